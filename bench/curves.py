"""Which curves the plots of the benchmark have."""
import os

import figures
import plot

# By the first words of their names.
SUBJECTS = {
    "bare": "#555555",
    "proved": "#e377c2",
    "requests": "#bcbd22",
    "zkl": "#d62728",
    "Curator": "#1f77b4",
    "kazoo": "#2ca02c",
    "etcd": "#9467bd",
    "Redis": "#ff7f0e",
    "PostgreSQL": "#8c564b",
}


def called(name):
    return {
        "loop-bare": "bare loop, alone",
        "crowd-bare": "bare chain",
        "crowd-proof": "proved bare chain",
        "crowd-mark": "requests without zkl",
        "loop-least": "requests without zkl",
        "loop-zkl": "zkl",
        "crowd-zkl": "zkl",
    }.get(name, name)


def by_size(results, sizes, figure):
    """{name: [(size, figure)…]}; figure(samples, all samples of that group)."""
    out = {}
    for size, group in sizes:
        for name, samples in results[group].items():
            out.setdefault(called(name), []).append((size, figure(samples, results[group])))
    return out


def median(key):
    return lambda samples, _: figures.of(samples, key)


def to_bare_loop(samples, group):
    return figures.middle(figures.ratios(samples, group["loop-bare"], "rate"))


def shares(samples):
    """How many of all waits were no longer than that many µs, up to 99.9 %."""
    waits, points, seen = figures.merged(s["waits"] for s in samples), [], 0
    for ns in sorted(waits):
        seen += waits[ns]
        points.append((max(ns, 1) / 1e3, 100 * seen / sum(waits.values())))
    return [p for p in points if p[1] <= 99.9]


def write_all(results, folder):
    """Those whose groups were measured; gives {file: title}."""
    contended = [(int(g.split()[0]), g) for g in results if g.endswith("processes")]
    crowds = [(int(g.split()[-1]), g) for g in results if g.startswith("crowd")]
    written = {}

    def add(name, title, lines, *args, **options):
        written[name] = title
        lines = {n: (SUBJECTS[n.split()[0]], line) for n, line in lines.items() if line}
        plot.curves(os.path.join(folder, name), title, lines, *args, **options)

    if contended:
        alone = [(1, "uncontended")] if "uncontended" in results else []
        add(
            "processes.svg",
            "One lock, taken in turns by processes that hold it for no time",
            by_size(results, alone + contended, to_bare_loop),
            "processes",
            "rate ÷ that of the bare loop, alone",
        )
    if crowds:
        add(
            "crowd.svg",
            "A long queue is served",
            by_size(results, crowds, median("rate")),
            "waiters",
            "hand-overs per second",
        )
        add(
            "crowd-bytes.svg",
            "What the server sends for one hand-over in a long queue",
            by_size(results, crowds, median("bytes")),
            "waiters",
            "bytes",
        )
    if "uncontended" in results:
        add(
            "latency.svg",
            "An uncontended lock: how long it takes to acquire",
            {called(n): shares(s) for n, s in results["uncontended"].items()},
            "µs from asking to having it",
            "share of locks, %",
            points=False,
            y_ticks=[0, 25, 50, 75, 90, 100],
        )
    return written
