"""The table, in markdown."""
import figures
from rows import Row

COLUMNS = [
    ("p50 µs", "p50_us", "%.0f"),
    ("p99 µs", "p99_us", "%.0f"),
    ("longest ms", "longest_ms", "%.1f"),
    ("Jain", "jain", "%.4f"),
    ("requests", "requests", "%.2f"),
    ("bytes", "bytes", "%.0f"),
    ("wake-ups", "wakeups", "%.2f"),
    ("CPU µs", "cpu_us", "%.0f"),
    ("switches", "switches", "%.1f"),
    ("overlaps", "violations", "%d"),
]
HEAD = ["measured", "ratio", "min..max", "value", "goal", "met"] + [c[0] for c in COLUMNS]


def number(value):
    return "–" if value is None else "%.3g" % value if value < 100 else "%.0f" % value


def total(samples, key):
    """The longest of all and the overlaps of all; of the rest the median."""
    values = [s[key] for s in samples if s.get(key) is not None]
    if not values:
        return None
    return {"longest_ms": max, "violations": sum}.get(key, figures.middle)(values)


def cells(row):
    met = {True: "yes", False: "**no**", None: ""}[row.met()]
    spread = (
        "%s..%s" % (number(min(row.values)), number(max(row.values))) if len(row.values) > 1 else ""
    )
    out = [
        row.name,
        number(figures.middle(row.values)),
        spread,
        row.shown or "",
        row.goal or "",
        met,
    ]
    for _, key, form in COLUMNS:
        value = total(row.sample, key)
        out.append("" if value is None else form % value)
    return out


def line(words):
    return "| " + " | ".join(words) + " |\n"


TEXT = """# Ratios

Made by `./dev bench`: ratios of one run on one machine, never verdicts. The programs take turns of
%(seconds)g s, %(rounds)d rounds of them (of crowds at most 5); a ratio is that of one round, and medians
are shown.

%(conditions)s

CPU and switches between threads are those of the client; requests, bytes and wake-ups are the
server's; all for one lock and unlock or one hand-over. p50, p99 and longest are waits for the lock,
in a crowd the times from one grant to the next. Overlaps are holders that found another inside. The
bare loop creates an ephemeral sequential node, waits, deletes it and waits: no lock at all. In the
bare chain each node's end is what deletes the next. A lock must ask for more than either: a list
behind the create, and the own node: when the one before has gone, or watched before that, which is
the proof. What it asks for "without zkl" is sent by a bare program in the order in which zkl sends
it, in a crowd as in a queue of 512 or more, else as in a shorter one; it survives no failure. The
server takes the requests of a connection one at a time, so each is paid for. Redis and PostgreSQL's advisory locks write nothing
to disk; etcd waits for its disk as ZooKeeper does. Redis has no queue: those that wait ask again.

A fleet is many sessions of an ensemble. Seconds of a storm count from when the servers serve again; attempts are
connections that clients tried to open, from the outage on. Ended are ZooKeeper sessions, and those that wait in
them lose their place.

"""


def reasons(rows):
    """What stands under the table: the rows that tell why a goal is missed."""
    out = ""
    for row in filter(Row.out_of_reach, rows):
        here, there = (number(figures.middle(r.values)) for r in (row, row.floor))
        out += "- %s: %s, goal %s\n  %s: %s\n" % (row.name, here, row.goal, row.floor.name, there)
    title = "\nMissed by bare programs, too, that ask for no less than such a lock must:\n\n"
    return out and title + out


def markdown(rows, facts, plots):
    """plots: {file: title}."""
    conditions = "".join("- %s: %s\n" % fact for fact in facts["conditions"])
    text = TEXT % dict(facts, conditions=conditions.rstrip())
    goals = [row.met() for row in rows if row.met() is not None]
    text += "Goals met: %d of %d.\n\n" % (sum(goals), len(goals))
    text += (
        line(HEAD)
        + line(["---"] + ["---:"] * (len(HEAD) - 1))
        + "".join(line(cells(row)) for row in rows)
        + reasons(rows)
    )
    return text + "".join("\n![%s](%s)\n" % (title, name) for name, title in plots.items())
