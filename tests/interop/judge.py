"""Judges what contenders recorded: judge.py COUNTER HISTORY LEAST PID=GRANTS...

judge.py --waits HISTORY...

COUNTER and HISTORY are the files of `contend` (see peers.sh); each process says how many turns it
had, LEAST or more. Prints one line with figures, then one for each fault; fails if there is any.
With --waits it prints the longest wait of each kind."""

import collections
import sys

Use = collections.namedtuple("Use", "begin end kind pid token found left")


PERMITS = 4  # permits of a semaphore


def numbered(use):
    """It has numbers, a bit for each, that nobody else has."""
    return use.kind.endswith("-numbered")


def permits(use):
    """Of a kind like zkl-permit3 or zkl-permit3x2 the limit that it goes by, else 0."""
    return int(use.kind.partition("-permit")[2].partition("x")[0] or 0)


def weight(use):
    """How many permits it has: of zkl-permit3x2 two."""
    return int(use.kind.partition("-permit")[2].partition("x")[2] or 1)


def shared(use):
    return use.kind.endswith("-read") or permits(use) > 0


def pairs(lines, faults):
    """Each process's begins with their ends."""
    open_uses, uses = {}, []
    for line in lines:
        at, _, pid, word, number, token, turn, kind = line.split()
        token = int(token), int(turn)
        if word == "begin":
            if pid in open_uses:
                faults.append("%s begins twice" % pid)
            open_uses[pid] = (int(at), kind, token, int(number))
        else:
            begin = open_uses.pop(pid, None)
            if begin is None or begin[1:3] != (kind, token) or begin[0] > int(at):
                faults.append("%s ends what it did not begin" % pid)
            else:
                uses.append(Use(begin[0], int(at), kind, pid, token, begin[3], int(number)))
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
    """How many there were at most; of permits, how many were taken."""
    edges = sorted(
        [(use.begin, weight(use)) for use in reads] + [(use.end, -weight(use)) for use in reads]
    )
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def doubles(uses):
    """How many had a number that another still had."""
    count, there = 0, []
    for use in uses:
        there = [other for other in there if other.end > use.begin]
        count += any(other.found & use.found for other in there)
        there.append(use)
    return count


def judge_numbers(uses, faults):
    """The figures."""
    double = doubles(uses)
    changed = sum(use.found != use.left for use in uses)
    wrong = sum(not 0 < use.found < 1 << PERMITS for use in uses)
    if double:
        faults.append("%d had a number that another still had" % double)
    if changed:
        faults.append("%d had other numbers in the end" % changed)
    if wrong:
        faults.append("%d had no number, or one beyond the limit" % wrong)
    return ", %d with numbers, %d at once, %d twice" % (len(uses), at_once(uses), double)


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
    counted = [use for use in uses if numbered(use)]
    locked = [use for use in uses if not numbered(use)]
    writes = [use for use in locked if not shared(use)]
    reads = [use for use in locked if shared(use)]
    lost = len(writes) - counter
    over = overlaps(locked)
    back = sum(a.token >= b.token for a, b in zip(writes, writes[1:]))
    changed = sum(use.found != use.left for use in reads)
    limit = min(map(permits, uses), default=0)
    had = collections.Counter(use.pid for use in uses)
    if lost:
        faults.append("the counter is %d after %d increments" % (counter, len(writes)))
    if over:
        faults.append("%d began before another's end" % over)
    if back:
        faults.append("%d tokens do not rise" % back)
    if limit and at_once(uses) > limit:
        faults.append("%d of %d permits were taken at once" % (at_once(uses), limit))
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
    if counted:
        figures += judge_numbers(counted, faults)
    return figures, faults


def waits(*histories):
    """Of each kind, by the name of the kind."""
    uses = []
    for history in histories:
        with open(history, encoding="ascii") as file:
            uses += pairs(file.readlines(), [])
    kinds = sorted({use.kind for use in uses})
    each = [longest_wait([use for use in uses if use.kind == kind]) for kind in kinds]
    print(", ".join("%s %d ms" % (k, ns // 1000000) for k, ns in zip(kinds, each)))
    return 0


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
    sys.exit(waits(*sys.argv[2:]) if sys.argv[1] == "--waits" else main(*sys.argv[1:]))
