#!/usr/bin/env python3
"""What calls of the API go through, for `./dev walk`.

    report.py PROGRAM TRACE         a table of the stages that PROGRAM (walk.c) has written to TRACE (record.h)
    report.py PROGRAM TRACE STAGE   the calls of one stage, from top to bottom

Reads from standard input which folders of lib each of them may call, a line "FOLDER: FOLDER ..." for each. A crossing
is a call from one file, or one room, to another; rooms are the folders of lib, and recipes. A call upward goes to a
room that the caller's may not call by name: a table of functions has led there.
"""
import collections
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPES = "recipes"
# With all that it calls: the timer of the proofs, which runs whatever is asked for.
LEFT_OUT = {"proof_chain_on_time"}


class Call:
    def __init__(self, place, parent, thread, depth, stage):
        self.function, self.file, self.line = place
        self.parent, self.thread, self.depth, self.stage = parent, thread, depth, stage
        self.left_out = self.function in LEFT_OUT or bool(parent and parent.left_out)
        self.below = []

    @property
    def room(self):
        top, *rest = self.file.split("/")
        return rest[0] if top == "lib" else top


def read_trace(path):
    """The stages' names in order, and (stage, thread, depth, address) of each call."""
    stages, calls, stage = [], [], None
    for line in path.read_text().splitlines():
        if line.startswith("stage "):
            name = line.removeprefix("stage ")
            stage = None if name == "-" else name
            stages += [stage] if stage else []
        else:
            number, thread, depth, address = re.fullmatch(r"(\d+) (.*) (\d+) (0x[0-9a-f]+)", line).groups()
            calls.append((stage, f"thread {number}, {thread}", int(depth), address))
    return stages, calls


def places_of(program, addresses):
    """The function, file from the root, and line of each address."""
    ordered = sorted(addresses)
    found = subprocess.run(["addr2line", "-f", "-e", program], input="\n".join(ordered), capture_output=True, text=True,
                           check=True).stdout.splitlines()
    places = {}
    for address, function, place in zip(ordered, found[::2], found[1::2]):
        file, line = re.match(r"(.*):(\d+|\?)", place).groups()
        places[address] = function, os.path.relpath(os.path.realpath(file), ROOT), line
    return places


def link_calls(calls, places):
    """Each call with its parent, which may belong to a stage before."""
    stacks, linked = collections.defaultdict(list), []
    for stage, thread, depth, address in calls:
        stack = stacks[thread]
        while stack and stack[-1].depth >= depth:
            stack.pop()
        call = Call(places[address], stack[-1] if stack else None, thread, depth, stage)
        stack.append(call)
        if call.left_out:
            continue
        linked.append(call)
        if call.parent:
            call.parent.below.append(call)
    return linked


def is_upward(call, below):
    caller = call.parent and call.parent.room
    return caller not in (None, call.room) and call.room != RECIPES and call.room not in below[caller]


def table(stages, calls, below):
    heads = "stage", "calls", "functions", "files", "file to file", "room to room", "upward", "begins with"
    rows = [heads]
    for stage in stages:
        mine = [c for c in calls if c.stage == stage]
        pairs = [(c.parent, c) for c in mine if c.parent]
        counts = (len(mine), len({(c.file, c.function) for c in mine}), len({c.file for c in mine}),
                  sum(p.file != c.file for p, c in pairs), sum(p.room != c.room for p, c in pairs),
                  sum(is_upward(c, below) for c in mine))
        rows.append((stage, *(f"{n:,}" for n in counts), mine[0].function))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        stage, *numbers, first = row
        print("  ".join([stage.ljust(widths[0])] + [n.rjust(w) for n, w in zip(numbers, widths[1:])] + [first]))


def lines_of(call, stage, indent, below):
    """The lines of a call and of those that it makes. What is the same several times in a row is there once."""
    up = is_upward(call, below)
    head = ("^ " if up else "  ") + "  " * indent + f"{call.function}  {call.file}:{call.line}"
    head += f"  (up from {call.parent.room})" if up else ""
    lines, runs = [head], []
    for child in (c for c in call.below if c.stage == stage):
        text = lines_of(child, stage, indent + 1, below)
        if runs and runs[-1][0] == text:
            runs[-1][1] += 1
        else:
            runs.append([text, 1])
    for (first, *others), times in runs:
        lines += [first + (f"  x {times}" if times > 1 else "")] + others
    return lines


def show(stage, calls, below):
    """Each call of the program, or of a thread of the library, whole, in the order in which they began."""
    thread = None
    for call in calls:
        if call.stage != stage or (call.parent and call.parent.stage == stage):
            continue
        if call.thread != thread:
            thread = call.thread
            print(f"{thread}:")
        print("\n".join(lines_of(call, stage, 0, below)))


def main():
    program, trace = sys.argv[1], Path(sys.argv[2])
    below = {room: others.split() for room, _, others in (line.partition(":") for line in sys.stdin)}
    below[RECIPES] = []
    stages, recorded = read_trace(trace)
    places = places_of(program, {address for *_, address in recorded})
    calls = link_calls(recorded, places)
    silent = [s for s in stages if not any(c.stage == s for c in calls)]
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.split()
    gone = LEFT_OUT - set(symbols)
    unknown = {c.room for c in calls} - set(below)
    if silent or gone or unknown:
        sys.exit(f"walk: stages without a call: {silent}; functions that are gone: {gone}; unknown folders: {unknown}")
    if len(sys.argv) == 3:
        table(stages, calls, below)
    elif sys.argv[3] in stages:
        show(sys.argv[3], calls, below)
    else:
        sys.exit(f'walk: there is no stage "{sys.argv[3]}", only {", ".join(stages)}')


if __name__ == "__main__":
    main()
