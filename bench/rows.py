"""The rows of the table: what is set beside what, and which ratio is the goal."""
import figures

LEAST = "a lock's requests without zkl"
LONG_QUEUE = 512  # as in recipes/head_hint.h
SINGLE_CHANGES = 5  # as in members_zkl.c


class Row:
    """values: one a round, the ratio itself or what stands for it; goal: what it must be; floor: the
    row of a bare program that asks the server for no less than such a lock must."""

    def __init__(self, name, values, shown=None, goal=None, bound=None, sample=None, floor=None):
        self.name, self.values, self.floor = name, values, floor
        self.shown, self.goal, self.bound, self.sample = shown, goal, bound, sample or []

    def meets(self, values):
        """None: it has no goal, or nothing was measured."""
        middle = figures.middle(values)
        if self.bound is None or middle is None:
            return None
        low, high = self.bound
        return (low is None or middle >= low) and (high is None or middle <= high)

    def met(self):
        return self.meets(self.values)

    def out_of_reach(self):
        """It is missed by its floor as well."""
        return self.met() is False and self.floor and self.meets(self.floor.values) is False


def at_least(x):
    return {"goal": "≥ %g" % x, "bound": (x, None)}


def below(x, unit=""):
    return {"goal": "< %g%s" % (x, unit), "bound": (None, x)}


def per_s(samples):
    rate = figures.of(samples, "rate")
    return "%.0f/s" % rate if rate is not None else "–"


def rates(title, what, samples, beside, **more):
    return Row("%s: %s" % (title, what), figures.ratios(samples, beside, "rate"), **more)


def measured(title, what, samples, beside, shown=per_s, **more):
    """The same, with all that is known of the first."""
    return rates(title, what, samples, beside, shown=shown(samples), sample=samples, **more)


def loop_rows(title, results, processes):
    bare, zkl, least = (results["loop-" + name] for name in ("bare", "zkl", "least"))
    curator = results.get("Curator", [])
    goal = at_least(1.25) if processes == 1 else {}
    yield Row("%s: bare loop" % title, [1.0], per_s(bare), sample=bare)
    yield measured(title, "zkl ÷ bare loop", zkl, bare, **goal)
    yield measured(title, LEAST + " ÷ bare loop", least, bare)
    for name, samples in results.items():
        if not name.startswith("loop-"):
            yield measured(title, name + " ÷ bare loop", samples, bare)
    floor = rates(title, LEAST + " ÷ Curator", least, curator)
    yield floor
    yield rates(
        title,
        "zkl ÷ Curator",
        zkl,
        curator,
        floor=floor,
        **at_least(1.7 if processes == 1 else 1.5)
    )
    if processes == 2:
        yield rates(title, "zkl ÷ kazoo", zkl, results.get("kazoo", []), **at_least(1.4))
    if processes == 1:
        yield Row(
            "%s: processor time, zkl ÷ bare loop" % title,
            figures.ratios(zkl, bare, "cpu_us"),
            **below(1.3)
        )


def several_rows(title, results):
    one, zkl, curator = results["one-path"], results["zkl"], results.get("Curator", [])
    yield Row("%s: zkl, one path" % title, [1.0], per_s(one), sample=one)
    yield measured(title, "zkl, a lock at all ÷ one path", zkl, one)
    yield measured(title, "Curator's InterProcessMultiLock ÷ zkl, one path", curator, one)
    yield rates(title, "zkl ÷ Curator", zkl, curator)


def beside_rows(title, what, results):
    zkl, curator = results["zkl"], results.get("Curator", [])
    yield Row("%s: zkl" % title, [1.0], per_s(zkl), sample=zkl)
    yield measured(title, "Curator's %s ÷ zkl" % what, curator, zkl)
    yield rates(title, "zkl ÷ Curator", zkl, curator)


def workers_rows(title, results):
    usual = results["workers=default"]
    yield Row("%s: zookeeper.nio.numWorkerThreads not set" % title, [1.0], per_s(usual), sample=usual)
    for name, samples in results.items():
        if samples is not usual:
            yield measured(title, "%s ÷ not set" % name.replace("workers=", ""), samples, usual)


def pair_rows(title, results):
    """Each node is a hand-over, if not to itself. Those that rest let the other have it anyway, so
    that what they keep is only in its way."""
    for rest, what in (("", "that never rest"), (", resting", "that rest 2 ms after each lock")):
        kept, apart = results["retained" + rest], results["apart" + rest]
        name = "%s %s" % (title, what)
        yield measured(
            name, "with retention ÷ without", kept, apart, **at_least(0.9) if rest else {}
        )
        yield Row(
            "%s: nodes, with retention ÷ without" % name,
            figures.ratios(kept, apart, "nodes"),
            "%.0f/s ÷ %.0f/s" % (figures.of(kept, "nodes"), figures.of(apart, "nodes")),
            **{} if rest else at_least(0.9)
        )


def ns(samples):
    return "%.0f ns, %.0f ns of processor time, %s" % (
        figures.of(samples, "ns"),
        figures.of(samples, "cpu_us") * 1e3,
        per_s(samples),
    )


def shared(samples):
    return "%s, %.0f %% passed to another thread" % (ns(samples), 100 * figures.of(samples, "passed"))


def again_rows(title, results):
    """Who has it next is another thread where there are more than one."""
    alone = results["1 retained"]
    redis = results.get("Redis", [])
    yield Row(
        "%s: lock+unlock again by the same thread ÷ 1 ns" % title,
        [s["ns"] for s in alone],
        ns(alone),
        sample=alone,
        **below(250, " ns")
    )
    yield rates(title, "that ÷ without retention", alone, results["1 apart"])
    yield measured(title, "Redis ÷ one thread without", redis, results["1 apart"])
    yield rates(title, "one thread ÷ Redis", alone, redis, **at_least(500))


def retained_rows(title, results):
    yield from again_rows(title, results)
    for n in (2, 8, 1000):
        kept, apart = (results["%d %s" % (n, how)] for how in ("retained", "apart"))
        what = "%s threads of one handle" % format(n, ",")
        yield measured(title, what + " ÷ without retention", kept, apart, shared)
        yield Row("%s: %s without" % (title, what), [1.0], per_s(apart), sample=apart)
    rival, first = results["rival"], results["1 apart"]
    yield Row(
        "%s: another session's wait for an idle lock ÷ lock+unlock without" % title,
        [r["p50_us"] * 1e3 / f["ns"] for r, f in zip(rival, first)],
        "%.0f µs" % figures.of(rival, "p50_us"),
        sample=rival,
    )


def requests_per_s(samples):
    requests = figures.middle(s["rate"] * s["requests"] for s in samples)
    return "%s, %.0f requests/s" % (per_s(samples), requests)


def many_rows(results):
    bare, zkl, listed = (results["many-" + name] for name in ("bare", "zkl", "list"))
    one, two = results["reads-1"], results["reads-2"]
    title = "1,000 locks, 256 at a time"
    floor = measured(title, "bare pairs with a list ÷ bare pairs", listed, bare, requests_per_s)
    yield Row("%s: bare pairs" % title, [1.0], requests_per_s(bare), sample=bare)
    yield floor
    yield measured(
        title, "zkl ÷ bare pairs", zkl, bare, requests_per_s, floor=floor, **at_least(0.8)
    )
    yield rates(title, "zkl ÷ bare pairs with a list", zkl, listed)
    yield Row("%s: processor time, zkl ÷ bare pairs" % title, figures.ratios(zkl, bare, "cpu_us"))
    yield Row(
        "reads, 256 at a time on a connection: of two connections ÷ of one",
        figures.ratios(two, one, "rate"),
        "%s ÷ %s" % (per_s(two), per_s(one)),
    )


def drain_rows(title, results):
    bare, zkl, proof, mark = (results["crowd-" + n] for n in ("bare", "zkl", "proof", "mark"))
    floor = measured(title, "bare chain with a proof ÷ bare chain", proof, bare)
    yield Row("%s: bare chain" % title, [1.0], per_s(bare), sample=bare)
    yield floor
    yield measured(title, "zkl's requests without zkl ÷ bare chain", mark, bare)
    yield measured(title, "drain, zkl ÷ bare chain", zkl, bare, floor=floor, **at_least(0.8))
    yield rates(title, "drain, zkl ÷ bare chain with a proof", zkl, proof)
    yield rates(title, "drain, zkl ÷ its requests without zkl", zkl, mark)


def crowd_rows(waiters, results):
    bare, zkl = results["crowd-bare"], results["crowd-zkl"]
    title = "crowd of %s" % format(waiters, ",")
    memory = [max(s["heap"], s["resident"]) for s in zkl]
    yield from drain_rows(title, results)
    yield Row(
        "%s: wake-ups a release" % title,
        [s["wakeups"] for s in zkl],
        goal="1 ± 0.05",
        bound=(0.95, 1.05),
    )
    yield Row(
        "%s: client memory a waiter ÷ 1 KiB" % title,
        [m / 1024 for m in memory],
        "%.0f B heap, %.0f B resident (bare chain: %.0f, %.0f)"
        % tuple(figures.of(s, key) for s in (zkl, bare) for key in ("heap", "resident")),
        **below(1)
    )
    yield Row(
        "%s: from the server a waiter to queue up, zkl ÷ bare chain" % title,
        figures.ratios(zkl, bare, "queue_bytes"),
        "%.0f B; all in %.1f s" % (figures.of(zkl, "queue_bytes"), figures.of(zkl, "queue_s")),
    )


def crowd_growth(crowds):
    """The cost of a hand-over in each crowd that is a long queue, to that in the smallest."""
    crowds = {waiters: results for waiters, results in crowds.items() if waiters >= LONG_QUEUE}
    smallest = min(crowds, default=0)
    for waiters in sorted(set(crowds) - {smallest}):
        base = crowds[smallest]["crowd-zkl"]
        samples = crowds[waiters]["crowd-zkl"]
        for key, what in (("requests", "requests"), ("bytes", "bytes from the server")):
            yield Row(
                "%s a hand-over, crowd of %s ÷ of %s"
                % (what, format(waiters, ","), format(smallest, ",")),
                figures.ratios(samples, base, key),
                "%.1f ÷ %.1f" % (figures.of(samples, key), figures.of(base, key)),
                goal="1 ± 0.2",
                bound=(0.8, 1.2),
            )


def storm_rows(title, results):
    bare, read, zkl = (results["members-" + n] for n in ("bare", "read", "zkl"))
    for name, samples in (
        ("bare creates", bare),
        ("a member's requests without zkl", read),
        ("zkl", zkl),
    ):
        yield Row(
            "%s: all join, %s ÷ bare creates" % (title, name),
            figures.ratios(samples, bare, "storm_s"),
            "%.2f s, %.0f B from the server and %.0f µs of processor time each"
            % tuple(figures.of(samples, "storm_" + key) for key in ("s", "bytes", "cpu_us")),
        )
    yield Row(
        "%s: all join, zkl ÷ its requests without zkl" % title,
        figures.ratios(zkl, read, "storm_s"),
    )


def group_rows(members, results):
    """A list a change at most: of many at once much less."""
    title, zkl = "group of %s" % format(members, ","), results["members-zkl"]
    yield from storm_rows(title, results)
    yield Row(
        "%s: an observer begins, bytes a member ÷ 1 B" % title,
        [s["first_bytes"] for s in zkl],
        "all in %.2f s" % figures.of(zkl, "first_s"),
    )
    for phase, what, count in (
        ("single", "one change after the other", SINGLE_CHANGES),
        ("burst", "a tenth change at once", members // 10),
        ("leave", "all leave at once", members),
        ("watched", "all join at once", members),
    ):
        yield Row(
            "%s: an observer's lists a change, %s" % (title, what),
            [s[phase + "_lists"] / count for s in zkl],
            "%.0f lists, %.0f B a change, all in %.2f s"
            % tuple(figures.of(zkl, "%s_%s" % (phase, key)) for key in ("lists", "bytes", "s")),
            goal="≤ 1",
            bound=(None, 1),
        )


def local_rows(samples):
    def ns(key):
        return [s[key + "_ns"] for s in samples]

    for key, what, beside, limit in (
        ("reentrant", "lock+unlock by the holder", "mutex", 100),
        ("check", "validity check", "clocks", 60),
    ):
        name = {"mutex": "recursive pthread mutex", "clocks": "its two clock reads"}[beside]
        yield Row(
            "%s ÷ %s" % (what, name),
            [a / b for a, b in zip(ns(key), ns(beside))],
            "%.1f ns ÷ %.1f ns" % (figures.middle(ns(key)), figures.middle(ns(beside))),
        )
        yield Row("%s ÷ 1 ns" % what, ns(key), **below(limit, " ns"))


def counting_rows(samples):
    title = "statistics of a retained lock+unlock by the same thread"
    yield Row(
        "%s: counted − not counted ÷ 1 ns" % title,
        [s["with_ns"] - s["without_ns"] for s in samples],
        "%.1f ns − %.1f ns" % (figures.of(samples, "with_ns"), figures.of(samples, "without_ns")),
        **below(20, " ns")
    )
    yield Row(
        "%s: the calls alone ÷ 1 ns" % title,
        [s["alone_ns"] for s in samples],
        **below(20, " ns")
    )


def tool_rows(results):
    bare, zkl = results["once-bare"], results["zkl"]
    mib = [(z["resident"] - b["resident"]) / 2**20 for z, b in zip(zkl, bare)]
    yield Row(
        "`zkl lock PATH true` ÷ bare create+delete program",
        figures.ratios(zkl, bare, "ms"),
        "%.1f ms ÷ %.1f ms" % (figures.of(zkl, "ms"), figures.of(bare, "ms")),
        **below(1.3)
    )
    yield Row(
        "resident memory of `zkl lock` beyond that program ÷ 1 MiB",
        mib,
        "%.1f MiB − %.1f MiB"
        % (figures.of(zkl, "resident") / 2**20, figures.of(bare, "resident") / 2**20),
        **below(8, " MiB")
    )


def idle_rows(title, results):
    """Ratios to one request a second."""
    for name, samples in results.items():
        requests, writes, log, watches, connections = (
            figures.of(samples, key)
            for key in ("requests", "writes", "log_bytes", "watches", "connections")
        )
        resident = figures.of(samples, "resident")
        yield Row(
            "%s: %s, requests a session and second ÷ 1" % (title, name),
            [s["requests"] for s in samples],
            "%.2f writes, %.0f B of log (%.2f GB a day of 1,000 sessions); %.2f watches, "
            "%.2f connections%s"
            % (
                writes,
                log,
                log * 86400 * 1000 / 1e9,
                watches,
                connections,
                "; %.0f KiB resident" % (resident / 1024) if resident is not None else "",
            ),
        )


def outage_rows(title, results):
    """The goals are those of a fleet that a server bears as well as kazoo's."""
    for name, samples in results.items():
        form = (
            "first, median and last after %.2f, %.2f and %.2f s; %.0f attempts a second while away, "
            "%.0f in the worst; %.0f attempts in all%s, %.0f handshakes, %.0f requests; %.0f ended%s"
        )
        keys = ("first_s", "p50_s", "last_s", "away", "most", "knocks")
        tried, missing = figures.of(samples, "tried"), figures.of(samples, "missing")
        shown = form % (
            *(figures.of(samples, key) for key in keys),
            ", %.0f of them libzookeeper's" % tried if tried else "",
            *(figures.of(samples, key) for key in ("handshakes", "requests", "lost")),
            ", %.0f not back" % missing if missing else "",
        )
        last = [s["last_s"] for s in samples]
        yield Row("%s: %s, the last is back ÷ 1 s" % (title, name), last, shown)
    for name in (n for n in results if n != "zkl"):
        for key, what, most in (("last_s", "the last is back", 1), ("knocks", "attempts", 2)):
            yield Row(
                "%s: %s, zkl ÷ %s" % (title, what, name),
                figures.ratios(results["zkl"], results[name], key),
                **{"goal": "≤ %d" % most, "bound": (None, most)} if name == "kazoo" else {}
            )
