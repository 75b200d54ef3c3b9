#!/usr/bin/env python3
"""Compares two lists of files: compare-files.py TABLE NAME LIST NAME LIST. A table has rows "FILE | FILE | why": what the
first list has, a regular expression, and what the second has in its place, which may name its groups; "-" is nothing. Prints
each difference that the table does not have, and each row of it that no file needs, and ends with 1 if there is any."""

import re
import sys


def lines(name):
    with open(name, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def second_of(file, rows, used):
    """What the second list has in its place; None: nothing."""
    for row, (first, second, _) in enumerate(rows):
        match = first != "-" and re.fullmatch(first, file)
        if match:
            used.add(row)
            return None if second == "-" else match.expand(second)
    return file


def differences(rows, names, first, second):
    used = set()
    wanted = {second_of(file, rows, used): file for file in first}
    wanted.pop(None, None)
    for file in sorted(set(wanted) - set(second)):
        yield f"{names[0]}: {wanted[file]}; not in {names[1]}: {file}"
    for file in sorted(set(second) - set(wanted)):
        rows_of = [row for row, (only, alone, _) in enumerate(rows) if only == "-" and re.fullmatch(alone, file)]
        used.update(rows_of)
        if not rows_of:
            yield f"only in {names[1]}: {file}"
    for row in sorted(set(range(len(rows))) - used):
        yield f"a row that no file needs: {' | '.join(rows[row])}"


def main():
    table, first, second = map(lines, sys.argv[1::2])
    names = sys.argv[2::2]
    rows = [[cell.strip() for cell in row.split(" | ")] for row in table]
    faults = [f"a row without a reason: {row}" for row, cells in zip(table, rows) if len(cells) != 3 or not cells[2]]
    faults = faults or list(differences(rows, names, first, second))
    same = f"{names[0]}: {len(first)} files; {names[1]}: {len(second)}; no difference without a reason"
    print("\n".join(faults) if faults else same)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
