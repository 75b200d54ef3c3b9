#!/usr/bin/env python3
"""Compares the exit statuses that zkl(1) has for each verb with those that tests have seen.

usage: man/statuses.py [RECORD] (in the top folder). RECORD is a file of lines "VERB STATUS", as tests/seen/ended.c
writes them. Fails if the table names a status that no test has seen, or a test has seen one that the table does not
name. Statuses without a column are those of commands and of signals: only a verb that runs a command, or that a signal
ends, has them. Without RECORD it prints the record that would equal the table.
"""
import re
import sys
from pathlib import Path

SIGNAL = 128
OF_COMMANDS = ("elect", "lock", "member", "once", "shards")  # as in the table: with 126 and 127


def table(root=Path()):
    """The columns' statuses, and the set of those of each verb."""
    text = re.search(r"\.Bl -column [^\n]*\n(.*?)\.El", (root / "man/zkl.1").read_text(), re.S).group(1)
    rows = [re.split(r" Ta ", line.removeprefix(".It ")) for line in text.splitlines()]
    columns = [int(number) for number in rows[0][1:]]
    return columns, {row[0]: {n for n, mark in zip(columns, row[1:], strict=True) if mark == "x"} for row in rows[1:]}


def verbs():
    return set(re.findall(r"\bX\((\w+), \"", Path("tools/tool.h").read_text()))


def seen_in(record):
    return {(verb, int(status)) for verb, status in (line.split() for line in record.splitlines())}


def main():
    columns, stated = table()
    if len(sys.argv) == 1:
        print("\n".join("%s %d" % (verb, status) for verb in sorted(stated) for status in sorted(stated[verb])))
        return 0
    wrong = ["zkl(1) has a row of %s, and tools/tool.h has %s" % (verb, "none" if verb in stated else "that verb") for verb in stated.keys() ^ verbs()]
    seen = {pair for pair in seen_in(Path(sys.argv[1]).read_text()) if pair[0] in stated}
    for verb, status in sorted(seen):
        if status not in columns and status < SIGNAL and verb not in OF_COMMANDS:
            wrong.append("zkl %s: a test has seen %d, for which zkl(1) has no column" % (verb, status))
    said = {(verb, status) for verb in stated for status in stated[verb]}
    for verb, status in sorted(said ^ {pair for pair in seen if pair[1] in columns}):
        by_page = (verb, status) in said
        wrong.append("zkl %s: %s" % (verb, ("zkl(1) has %d, which no test has seen" if by_page else "a test has seen %d, which zkl(1) does not have") % status))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
