"""The plots, as SVG written by hand: axes, grid, lines with points, a legend. No library."""
import math
import os
from xml.sax.saxutils import escape

import figures

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 84, 190, 48, 60
COLOURS = {
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


class Axis:
    """From values to pixels; logarithmic unless it is said to be linear."""

    def __init__(self, label, values, start, length, linear=False, ticks=None):
        self.label, self.start, self.length = label, start, length
        self.scale = (lambda v: v) if linear else math.log10
        low, high = (min(values), max(values)) if values else (1, 10)
        self.ticks = ticks or decades(low, high)
        self.low = self.scale(min([low] + self.ticks))
        self.high = self.scale(max([high] + self.ticks))

    def at(self, value):
        share = (self.scale(value) - self.low) / ((self.high - self.low) or 1)
        return self.start + share * self.length


def decades(low, high):
    """1, 2, 5 of each decade when there are few decades, else the powers of ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    every = [s * 10.0**e for e in range(first, last + 1) for s in steps]
    below = [t for t in every if t <= low]
    above = [t for t in every if t >= high]
    return [t for t in every if below[-1] <= t <= above[0]]


def amount(value):
    return format(int(value), ",") if value >= 1 else "%g" % value


def text(x, y, words, anchor="middle", more=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (
        x,
        y,
        anchor,
        more,
        escape(words),
    )


def stroke(x1, y1, x2, y2, colour):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>' % (x1, y1, x2, y2, colour)


def frame(title, x, y):
    right, base = x.start + x.length, y.start
    out = [text(LEFT, 24, title, "start", ' font-size="16" font-weight="bold"')]
    for tick in y.ticks:
        out += [
            stroke(LEFT, y.at(tick), right, y.at(tick), "#dddddd"),
            text(LEFT - 8, y.at(tick) + 4, amount(tick), "end"),
        ]
    for tick in x.ticks:
        out += [
            stroke(x.at(tick), base, x.at(tick), base + y.length, "#eeeeee"),
            text(x.at(tick), base + 18, amount(tick)),
        ]
    out += [
        stroke(LEFT, base, right, base, "#000000"),
        stroke(LEFT, base, LEFT, base + y.length, "#000000"),
    ]
    out.append(text((LEFT + right) / 2, HEIGHT - 14, x.label))
    middle = base + y.length / 2
    out.append(text(22, middle, y.label, more=' transform="rotate(-90 22 %.1f)"' % middle))
    return out


def curve(points, x, y, colour, marks):
    at = [(x.at(a), y.at(b)) for a, b in points]
    out = [
        '<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>'
        % (colour, " ".join("%.1f,%.1f" % p for p in at))
    ]
    return out + [
        '<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (p + (colour,)) for p in at if marks
    ]


def legend(names):
    out = []
    for i, name in enumerate(names):
        at, colour = TOP + 12 + 22 * i, COLOURS[name.split()[0]]
        out += [
            '<rect x="%d" y="%d" width="18" height="4" fill="%s"/>'
            % (WIDTH - RIGHT + 16, at - 6, colour),
            text(WIDTH - RIGHT + 40, at, name, "start"),
        ]
    return out


def write(path, title, curves, x_label, y_label, marks=True, **y_options):
    """curves: {name: [(x, y)…]}; the first word of a name decides its colour."""
    curves = {name: points for name, points in curves.items() if points}
    places = sorted({p[0] for points in curves.values() for p in points})
    x = Axis(x_label, places, LEFT, WIDTH - LEFT - RIGHT, ticks=places if marks else None)
    y = Axis(
        y_label,
        [p[1] for points in curves.values() for p in points],
        HEIGHT - BOTTOM,
        -(HEIGHT - TOP - BOTTOM),
        **y_options
    )
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"' % (WIDTH, HEIGHT),
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    out += frame(title, x, y) + legend(curves)
    for name, points in curves.items():
        out += curve(points, x, y, COLOURS[name.split()[0]], marks)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out + ["</svg>\n"]))


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

    def add(name, title, *args, **options):
        written[name] = title
        write(os.path.join(folder, name), title, *args, **options)

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
            "A crowd behind one lock is let through",
            by_size(results, crowds, median("rate")),
            "waiters",
            "hand-overs per second",
        )
        add(
            "crowd-bytes.svg",
            "What the server sends for one hand-over in a crowd",
            by_size(results, crowds, median("bytes")),
            "waiters",
            "bytes",
        )
    if "uncontended" in results:
        add(
            "latency.svg",
            "An uncontended lock: how long until it is had",
            {called(n): shares(s) for n, s in results["uncontended"].items()},
            "µs from asking to having it",
            "share of locks, %",
            marks=False,
            linear=True,
            ticks=[0, 25, 50, 75, 90, 100],
        )
    return written
