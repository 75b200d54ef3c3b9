"""The rows of the table: what is set beside what, and which ratio is the goal."""
import figures


class Row:
    """values: one a round, the ratio itself or what stands for it; goal: what it must be."""

    def __init__(self, name, values, shown=None, goal=None, bound=None, sample=None):
        self.name, self.values = name, values
        self.shown, self.goal, self.bound, self.sample = shown, goal, bound, sample or []

    def met(self):
        """None: it has no goal, or was not measured."""
        middle = figures.middle(self.values)
        if self.bound is None or middle is None:
            return None
        low, high = self.bound
        return (low is None or middle >= low) and (high is None or middle <= high)


def at_least(x):
    return {"goal": "≥ %g" % x, "bound": (x, None)}


def below(x, unit=""):
    return {"goal": "< %g%s" % (x, unit), "bound": (None, x)}


def per_s(samples):
    rate = figures.of(samples, "rate")
    return "%.0f/s" % rate if rate is not None else "–"


def against_bare(title, name, samples, bare, **goal):
    return Row(
        "%s: %s ÷ bare loop" % (title, name),
        figures.ratios(samples, bare, "rate"),
        per_s(samples),
        sample=samples,
        **goal
    )


def loop_rows(title, results, processes):
    bare, zkl, curator = results["loop-bare"], results["loop-zkl"], results.get("Curator", [])
    goal = at_least(1.25) if processes == 1 else {}
    yield Row("%s: bare loop" % title, [1.0], per_s(bare), sample=bare)
    yield against_bare(title, "zkl", zkl, bare, **goal)
    for name, samples in results.items():
        if name not in ("loop-bare", "loop-zkl"):
            yield against_bare(title, name, samples, bare)
    yield Row(
        "%s: zkl ÷ Curator" % title,
        figures.ratios(zkl, curator, "rate"),
        **at_least(1.7 if processes == 1 else 1.5)
    )
    if processes == 1:
        yield Row(
            "%s: processor time, zkl ÷ bare loop" % title,
            figures.ratios(zkl, bare, "cpu_us"),
            **below(1.3)
        )


def many_rows(results):
    bare, zkl = results["many-bare"], results["many-zkl"]
    title = "1,000 locks, 256 at a time"
    yield Row("%s: bare pairs" % title, [1.0], per_s(bare), sample=bare)
    yield Row(
        "%s: zkl ÷ bare pairs" % title,
        figures.ratios(zkl, bare, "rate"),
        per_s(zkl),
        sample=zkl,
        **at_least(0.8)
    )
    yield Row("%s: processor time, zkl ÷ bare pairs" % title, figures.ratios(zkl, bare, "cpu_us"))


def crowd_rows(waiters, results):
    bare, zkl = results["crowd-bare"], results["crowd-zkl"]
    title = "crowd of %s" % format(waiters, ",")
    memory = [max(s["heap"], s["resident"]) for s in zkl]
    yield Row("%s: bare chain" % title, [1.0], per_s(bare), sample=bare)
    yield Row(
        "%s: drain, zkl ÷ bare chain" % title,
        figures.ratios(zkl, bare, "rate"),
        per_s(zkl),
        sample=zkl,
        **at_least(0.8)
    )
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
    """The cost of a hand-over in each crowd, to that in the smallest."""
    smallest = min(crowds)
    base = crowds[smallest]["crowd-zkl"]
    for waiters in sorted(set(crowds) - {smallest}):
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
