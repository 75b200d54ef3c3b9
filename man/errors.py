#!/usr/bin/env python3
"""Compares the errors that the manual names with those that tests have seen.

usage: man/errors.py [RECORD] (in the top folder). RECORD is the file that ZKL_SEEN named while tests ran
(tests/seen/seen.c). Fails if a function's list names an error that no test has seen, or a test has seen one that the
list does not name. Without RECORD it prints the record that would equal the lists.
"""
import re
import sys
from pathlib import Path

from headers import Errors

NAME, LINE = 40, 72  # as in seen.c


def numbers():
    text = Path("include/zkl/error.h").read_text()
    return {name: -int(number) for name, number in re.findall(r"\b(ZKL_E[A-Z]+) = (-\d+)", text)}


def as_record(stated, codes):
    for name in sorted(stated):
        columns = {codes[code] for code in stated[name]}
        yield name.ljust(NAME, "\0") + "".join("x" if n in columns else "\0" for n in range(LINE - NAME - 1))


def seen_in(record, codes):
    names = {number: code for code, number in codes.items()}
    for line in record.split("\n"):
        if line:
            yield line[:NAME].rstrip("\0"), {names[n] for n, c in enumerate(line[NAME:]) if c == "x"}


def main():
    codes, stated = numbers(), Errors().all
    if len(sys.argv) == 1:
        print("\n".join(as_record(stated, codes)))
        return 0
    seen, wrong = dict(seen_in(Path(sys.argv[1]).read_text(), codes)), 0
    for name in sorted(stated.keys() | seen.keys()):
        for code in sorted(stated.get(name, set()) ^ seen.get(name, set())):
            said = code in stated.get(name, set())
            print("%s: %s" % (name, ("the manual names %s, which no test has seen" if said else "a test has seen %s, which the manual does not name") % code))
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
