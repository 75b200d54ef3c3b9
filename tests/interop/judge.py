"""Judges what contenders recorded: judge.py COUNTER HISTORY LEAST PID=GRANTS...

COUNTER and HISTORY are the files of `contend` (see peers.sh); each process says how many turns it
had, LEAST or more. Prints one line with figures, then one for each fault; fails if there is any."""

import collections
import sys

Use = collections.namedtuple("Use", "begin end kind pid token found left")


def shared(use):
    return use.kind.endswith("-read")


def pair(token):
    """Of TOKEN.TURN, or of TOKEN, whose turn is 0."""
    number, _, turn = token.partition(".")
    return int(number), int(turn or 0)


def pairs(lines, faults):
    """Each process's begins with their ends."""
    open_uses, uses = {}, []
    for line in lines:
        at, word, kind, pid, token, number = line.split()
        if word == "begin":
            if pid in open_uses:
                faults.append("%s begins twice" % pid)
            open_uses[pid] = (int(at), kind, token, int(number))
        else:
            begin = open_uses.pop(pid, None)
            if begin is None or begin[1:3] != (kind, token) or begin[0] > int(at):
                faults.append("%s ends what it did not begin" % pid)
            else:
                uses.append(Use(begin[0], int(at), kind, pid, pair(token), begin[3], int(number)))
    faults.extend("%s never ends" % pid for pid in open_uses)
    return sorted(uses)


def overlaps(uses):
    """How many began while another was there, unless both only read."""
    count, end, write_end = 0, -1, -1  # the latest of all so far, and of those that write
    for use in uses:
        count += use.begin < (write_end if shared(use) else end)
        end = max(end, use.end)
        if not shared(use):
            write_end = max(write_end, use.end)
    return count


def at_once(reads):
    """How many there were at most."""
    edges = sorted([(use.begin, 1) for use in reads] + [(use.end, -1) for use in reads])
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def longest_wait(uses):
    """From the end of a use to the same process's next, in nanoseconds."""
    longest, ends = 0, {}
    for use in uses:
        longest = max(longest, use.begin - ends.get(use.pid, use.begin))
        ends[use.pid] = use.end
    return longest


def judge(lines, counter, least, grants):
    """The line of figures, and the faults."""
    faults = []
    uses = pairs(lines, faults)
    writes = [use for use in uses if not shared(use)]
    reads = [use for use in uses if shared(use)]
    lost = len(writes) - counter
    over = overlaps(uses)
    back = sum(a.token >= b.token for a, b in zip(writes, writes[1:]))
    changed = sum(use.found != use.left for use in reads)
    had = collections.Counter(use.pid for use in uses)
    if lost:
        faults.append("the counter is %d after %d increments" % (counter, len(writes)))
    if over:
        faults.append("%d began before another's end" % over)
    if back:
        faults.append("%d tokens do not rise" % back)
    if changed:
        faults.append("%d readers saw a change" % changed)
    for pid in sorted(set(had) | set(grants)):
        if had[pid] != grants.get(pid):
            faults.append("%s had %s turns and recorded %d" % (pid, grants.get(pid), had[pid]))
        if had[pid] < least:
            faults.append("%s had %d turns, not %d" % (pid, had[pid], least))
    figures = "%d increments, %d lost, %d overlaps" % (len(writes), lost, over)
    if reads:
        figures += ", %d reads, %d at once" % (len(reads), at_once(reads))
        figures += ", longest wait %d ms" % (longest_wait(uses) // 1000000)
    return figures, faults


def main(counter, history, least, *grants):
    with open(counter, encoding="ascii") as file:
        number = int(file.read().split()[1])
    with open(history, encoding="ascii") as file:
        lines = file.readlines()
    had = dict(one.split("=") for one in grants)
    figures, faults = judge(lines, number, int(least), {pid: int(n) for pid, n in had.items()})
    print(figures)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
