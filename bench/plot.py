"""All pictures: the curves of the benchmark; as a script, the demo's: plot.py RUN.json FILE.svg."""
import io
import json
import math
import sys

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.textpath import TextPath
from matplotlib.ticker import MaxNLocator

# The same data give the same bytes, text stays text, lengths are points.
matplotlib.rcdefaults()
matplotlib.rcParams.update(
    {
        "figure.dpi": 72,
        "svg.fonttype": "none",
        "svg.hashsalt": "zkl",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 9,
        "legend.frameon": False,
        "lines.solid_capstyle": "butt",
    }
)
# The demo's colours, on a light page and on a dark one.
SHADES = {
    "paper": ("#ffffff", "#0d1117"),
    "text": ("#24292f", "#e6edf3"),
    "dim": ("#57606a", "#9198a1"),
    "lane": ("#f3f5f7", "#161b22"),
    "grid": ("#d0d7de", "#30363d"),
    "holds": ("#2f6fd0", "#58a6ff"),
    "holds, but told SUSPECT": ("#d4a72c", "#e3b341"),
    "waits": ("#8c959f", "#6e7681"),
    "two hold at once": ("#f7cfd2", "#67141b"),
    "PASS": ("#1a7f37", "#3fb950"),
    "FAIL": ("#d1242f", "#ff7b72"),
    "F": ("#0969da", "#4493f8"),
    "K": ("#cf222e", "#f85149"),
    "C": ("#bc4c00", "#f0883e"),
    "S": ("#9a6700", "#d29922"),
    "L": ("#8250df", "#ab7df8"),
    "T": ("#116329", "#56d364"),
}
WIDTH, LEFT, ROOM, ROW = 900, 38, 844, 13  # of the demo's picture, its lanes, a row of labels


def save(figure, path, title, shades=()):
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Title": title, "Date": None})
    rules = [
        '[style*="%s: %s"] { %s: %s !important }' % (what, light, what, dark)
        for light, dark in shades
        for what in ("fill", "stroke")
    ]
    dark = "\n@media (prefers-color-scheme: dark) {\n%s\n}\n</style>" % "\n".join(rules)
    with open(path, "w", encoding="utf-8") as f:
        f.write(out.getvalue().replace("</style>", dark, 1) if rules else out.getvalue())


def shade(name):
    return SHADES[name][0]


def write(figure, x, y, words, colour="text", **options):
    """x and y from the left and the top of the picture."""
    x, y = x / WIDTH, 1 - y / figure.bbox.height
    figure.text(x, y, words, color=shade(colour), **options)


def bars(axes, kind, width, places, **options):
    """Those of [(y, start, end)…] that are in sight, as one path; the shortest are still seen."""
    left, right = axes.get_xlim()
    least, x, y = 0.7 * (right - left) / ROOM, [], []
    for at, start, end in places:
        if end > left and start < right:
            x += [start, max(end, start + least), math.nan]
            y += [at, at, math.nan]
    axes.plot(x, y, color=shade(kind), linewidth=width, **options)


def overlaps(holds):
    for i, (worker, _, _, end, _) in enumerate(holds):
        for other, start, _, other_end, _ in holds[i + 1 :]:
            if start >= end:
                break
            if other != worker:
                yield start, min(end, other_end)


def panel(figure, run, top, lane, start, end):
    """A lane for each worker, `top` below the picture's; y is in points below that."""
    high, total = lane * run["workers"], figure.bbox.height
    place = [LEFT / WIDTH, 1 - (top + high) / total, ROOM / WIDTH, high / total]
    axes = figure.add_axes(place, xlim=(start, end), ylim=(high, 0), facecolor="none")
    middle = [lane * (w + 0.5) for w in range(run["workers"])]
    ticks = MaxNLocator(20, steps=[1, 2, 5, 10]).tick_values(start, end)
    ticks = [t for t in ticks if start <= t < end]
    decimals = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))
    axes.set_xticks(ticks, ["%.*f s" % (decimals, t) for t in ticks], size=7.5, color=shade("dim"))
    axes.set_yticks(middle, ["w%d" % (w + 1) for w in range(len(middle))], color=shade("text"))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.grid(axis="x", color=shade("grid"), linewidth=0.75)
    holds = run["holds"]
    bars(axes, "lane", lane - 3, [(y, start, end) for y in middle], zorder=0)
    bars(axes, "two hold at once", high, [(high / 2, *both) for both in overlaps(holds)])
    bars(axes, "waits", 1.1, [(middle[w], a, b) for w, a, b in run["waits"]])
    bars(axes, "holds", 0.6 * lane, [(middle[w], a, doubt) for w, a, doubt, _, _ in holds])
    doubts = [(middle[w], doubt, end) for w, _, doubt, end, _ in holds if doubt < end]
    bars(axes, "holds, but told SUSPECT", 0.6 * lane, doubts)
    return axes


def tokens(axes, places, room):
    """[(x, y, token)…], as far as they leave each other that room."""
    free, pixel = -math.inf, (axes.get_xlim()[1] - axes.get_xlim()[0]) / ROOM
    for x, y, token in places:
        if free <= x <= axes.get_xlim()[1] - 24 * pixel:
            axes.text(x, y, " #%d" % token, size=7.5, color=shade("dim"), va="center")
            free = x + room * pixel


def rows(marks, end):
    """Each label's left end and its row, from 0, the lowest. From the last to the first: one stands
    above every later one that it would reach, so that the lines of those do not cross it."""
    out = []
    for at, _, _, label in reversed(marks):
        width = 8 + TextPath((0, 0), label, 9, prop={"weight": "bold"}).get_extents().width
        left = max(min(LEFT + at / end * ROOM, LEFT + ROOM - width), LEFT)
        reached = [row for other, row in out if other < left + width]
        out.append((left, 1 + max(reached, default=-1)))
    return out[::-1]


def mark(figure, axes, lane, places, marks):
    top = figure.bbox.height * (1 - axes.get_position().y1)
    for (left, row), (at, worker, letter, label) in zip(places, marks):
        colour, high = letter or "dim", 8 + ROW * row
        write(figure, left + 3, top - high, label, colour, weight="bold")
        line = axes.plot([at, at], [axes.get_ylim()[0], 2 - high], "--", color=shade(colour))
        line[0].set(linewidth=0.75, dashes=(4, 2.7), clip_on=False)
        if letter and worker >= 0:
            y = lane * (worker + 0.5)
            axes.plot(at, y, "o", color=shade(colour), markersize=12, clip_on=False)
            options = {"ha": "center", "va": "center_baseline", "size": 7.5, "weight": "bold"}
            axes.text(at, y, letter, color=shade("paper"), **options)


def head(figure, run):
    write(figure, LEFT, 26, run["title"], size=15, weight="bold")
    write(figure, LEFT, 42, run["facts"], "dim", size=10)
    passed = "PASS" if run["pass"] else "FAIL"
    write(figure, LEFT, 58, passed + ": " + run["verdict"], passed, size=10, weight="bold")


def legend(figure):
    kinds = {"holds": 8, "holds, but told SUSPECT": 8, "waits": 1.1, "two hold at once": 11}
    handles = [Line2D([], [], color=shade(k), linewidth=w, label=k) for k, w in kinds.items()]
    place = {"loc": "lower left", "bbox_to_anchor": (LEFT / WIDTH - 0.01, 0), "borderaxespad": 0}
    figure.legend(handles=handles, ncol=4, labelcolor=shade("text"), borderpad=1, **place)
    words = "#17: a grant and its token. Seconds since the workers began."
    write(figure, 480, figure.bbox.height - 11.4, words, "dim")


def timeline(run, path):
    """The run that tests/demo/picture.c writes, and a close-up of some hand-overs."""
    workers, holds, end = run["workers"], run["holds"], run["end"] or 1
    places, some = rows(run["marks"], end), holds[8:21] if len(holds) >= 24 else []
    top = 74 + ROW * (1 + max([row for _, row in places], default=0))
    below = top + 22 * workers + 44
    height = below + (16 * workers + 44 if some else -4)
    figure = Figure((WIDTH / 72, height / 72), facecolor=shade("paper"))
    axes = panel(figure, run, top, 22, 0, end)
    tokens(axes, [(start, 22 * w + 1, token) for w, start, _, _, token in holds], 66)
    mark(figure, axes, 22, places, run["marks"])
    if some:
        start = some[0][1] - 0.002
        end = min(some[-1][1], start + 3)
        words = "Close-up: %.0f ms" % ((end - start) * 1e3)
        words += " of ordinary hand-overs" if run["pass"] else ""
        write(figure, LEFT, below - 7, words, weight="bold")
        axes = panel(figure, run, below, 16, start, end)
        tokens(axes, [(until, 16 * w + 4.5, token) for w, _, _, until, token in some], 0)
    head(figure, run)
    legend(figure)
    save(figure, path, run["title"], SHADES.values())


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


def curves(path, title, lines, x_label, y_label, points=True, y_ticks=None):
    """lines: {name: (colour, [(x, y)…])}. Both axes are logarithmic but for a y with ticks."""
    figure = Figure((570 / 72, 330 / 72))
    axes = figure.add_axes([0.11, 0.136, 0.64, 0.755], xscale="log", xlabel=x_label, ylabel=y_label)
    look = {"marker": "o" if points else None, "markersize": 5, "clip_on": False}
    for name, (colour, line) in lines.items():
        axes.plot(*zip(*line), color=colour, label=name, **look)
    x, y = zip(*(point for _, line in lines.values() for point in line))
    x_ticks = sorted(set(x)) if points else decades(min(x), max(x))
    if not y_ticks:
        y_ticks = decades(min(y), max(y))
        axes.set_yscale("log")
    axes.set_xticks(x_ticks, [amount(t) for t in x_ticks])
    axes.set_yticks(y_ticks, [amount(t) for t in y_ticks])
    axes.set(xlim=(x_ticks[0], x_ticks[-1]), ylim=(y_ticks[0], y_ticks[-1]))
    axes.minorticks_off()
    axes.grid(color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left", size=12, weight="bold")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path, title)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as run_file:
        timeline(json.load(run_file), sys.argv[2])
