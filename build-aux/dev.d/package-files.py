#!/usr/bin/env python3
"""Compares the files of Debian's packages with those of the spec: package-files.py TABLE DEBIAN SPEC, where the last
two are lists of lines "PACKAGE PATH". Prints each difference that the table (packaging/differences) does not have, and
each row of it that no file needs, and ends with 1 if there is any."""

import re
import sys


def lines(name):
    with open(name, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]


def spec_of(file, rows, used):
    """What the spec has in its place; None: nothing."""
    for row, (debian, spec, _) in enumerate(rows):
        match = debian != "-" and re.fullmatch(debian, file)
        if match:
            used.add(row)
            return None if spec == "-" else match.expand(spec)
    return file


def differences(rows, debian, spec):
    used = set()
    wanted = {spec_of(file, rows, used): file for file in debian}
    wanted.pop(None, None)
    for file in sorted(set(wanted) - set(spec)):
        yield f"Debian's packages have {wanted[file]}, and the spec's have no {file}"
    for file in sorted(set(spec) - set(wanted)):
        rows_of = [row for row, (only, alone, _) in enumerate(rows) if only == "-" and re.fullmatch(alone, file)]
        used.update(rows_of)
        if not rows_of:
            yield f"only the spec's packages have {file}"
    for row in sorted(set(range(len(rows))) - used):
        yield f"a row that no file needs: {' | '.join(rows[row])}"


def main():
    table, debian, spec = map(lines, sys.argv[1:])
    rows = [[cell.strip() for cell in row.split(" | ")] for row in table]
    faults = [f"a row without a reason: {row}" for row, cells in zip(table, rows) if len(cells) != 3 or not cells[2]]
    faults = faults or list(differences(rows, debian, spec))
    print("\n".join(faults) if faults else f"{len(debian)} files of Debian's and {len(spec)} of the spec's: no difference without a reason")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
