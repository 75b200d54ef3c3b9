#!/usr/bin/env python3
"""What people and programs name of zkl, beside libzkl's ABI (abi.py): rows of text, which only grow.

    verb VERB; option VERB --NAME, or --NAME= with a value; letter VERB -L --NAME; word VERB --NAME WORD
                                               "-" is of all verbs; a hidden option is in no help
    status NAME N; status VERB N               a constant of the code; and what zkl(1) has of a verb
    env command|zkl|completion|python NAME     who reads it
    json OBJECT MEMBER
    line WORDS; reason WORD                    of --status-fd, where % is what varies; of a loss
    metric NAME TYPE; bucket BOUND
    event NAME                                 of the log
    python MODULE.NAME                         a class, a member of it, or a function: NAME()
    python MODULE.NAME() [PLACE] PARAMETER     without a place it is a keyword's alone
    python MODULE.NAME PLACE MEMBER            of a tuple
    python MODULE.NAME < BASE
    cxx CLASS, cxx CLASS.MEMBER
    header FILE; macro NAME; inline FUNCTION; auto TYPE, for ZKL_AUTO(); module NAME of pkg-config
    unit FILE KEY=VALUE

usage: tests/lint/interface.py SOURCE BUILD compare [KIND...]  what there is otherwise than tests/lint/interface.txt says, of
                                                               these kinds alone: "broken: ROW" or "new: ROW"
       tests/lint/interface.py SOURCE BUILD write              adds what is new; 1 if a row is broken
"""
import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "man")]
import members  # noqa: E402
import statuses  # noqa: E402


def words_of(text):
    """Code with strings in place of the macros that are strings."""
    for name, value in re.findall(r'#define (\w+) ("\w+")', text):
        text = re.sub(r"\b%s\b" % name, value, text)
    return text


def code(root):
    return words_of("".join(f.read_text() for f in sorted((root / "tools").rglob("*.[ch]"))))


# ---- the command ----


def options(root, build):
    """Those that the command's help shows. A verb has the options of all verbs, too, which are not said again."""
    program = next(p for p in (build / "tools/.libs/zkl", build / "tools/zkl") if p.exists())
    environment = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": str(build / "lib/.libs")}

    def of(verb, *words):
        said = subprocess.run([program, "help", *words], check=True, capture_output=True, text=True, env=environment).stdout
        if verb == "-":
            yield from ("verb " + name for name in re.findall(r"^  ([a-z]+) ", said.partition("\nCommands:")[2], re.M))
        for letter, name, value, summary in re.findall(r"^  (?:-(.), )?(--[a-z-]+)(=?)\S* +(.*)$", said, re.M):
            yield "option %s %s%s" % (verb, name, value)
            if letter:
                yield "letter %s -%s %s" % (verb, letter, name)
            values = re.search(r": ([a-z]+(?: \(default\))?(?:, [a-z]+)* or [a-z]+)$", summary)
            for word in re.findall(r"[a-z]+", re.sub(r" \(default\)| or ", ",", values[1])) if value and values else []:
                yield "word %s %s %s" % (verb, name, word)

    common = list(of("-"))
    yield from common
    for verb in [row.split()[1] for row in common if row.startswith("verb ") and row != "verb help"]:
        yield from (row for row in of(verb, verb) if row.replace(" %s " % verb, " - ", 1) not in common)
    for name, letter in re.findall(r'\{"([a-z-]+)", (?:\'(.)\'|0), G_OPTION_FLAG_HIDDEN', code(root)):
        yield "option hidden --" + name
        if letter:
            yield "letter hidden -%s --%s" % (letter, name)


def exit_statuses(root, _):
    for name, number in re.findall(r"\bSTATUS_(\w+) = (\d+)", (root / "tools/failure.h").read_text()):
        yield "status %s %s" % (name, number)
    for verb, numbers in sorted(statuses.table(root)[1].items()):
        yield from ("status %s %d" % (verb, number) for number in sorted(numbers))


def environment_variables(root, _):
    text = code(root)
    # The first argument may be a call.
    for name in re.findall(r'(?:g_environ_setenv\((?:[^,()]|\([^()]*\))+, |set_number\()"(ZKL_\w+)"', text):
        yield "env command " + name
    completion = "".join(f.read_text() for f in sorted((root / "tools/completion").iterdir()))
    for reader, pattern, said in (
        ("zkl", r'getenv\("(ZKL_\w+)"\)', text),
        ("completion", r"\$\{(ZKL_\w+)", completion),
        ("python", r'environ\.get\("(ZKL_\w+)"', (root / "python/zkl/_library.py").read_text()),
    ):
        yield from ("env %s %s" % (reader, name) for name in re.findall(pattern, said))


# The function of tools/ that writes each object of JSON.
OBJECTS = {
    "contender": "contender_json",
    "ls -r": "show_queue",
    "watch": "view_json",
    "elect": "leader_line",
    "member": "member_json",
    "once": "contenders_run_json",
}


def json_members(root, _):
    text = code(root)
    for what, function in OBJECTS.items():
        body = re.search(r"^\w[^\n;]*\b%s\([^;{]*\)\n\{\n(.*?)^\}" % function, text, re.M | re.S)[1]
        for pair in re.findall(r'\\"(\w+)\\": |\bjson_\w+\(out, "(\w+)"', body):
            yield "json %s %s" % (what, "".join(pair))
    yield from ("json member " + name for name in re.findall(r'\bmember_json\(\w+, "(\w+)"', text))


def status_lines(root, _):
    """A format may have parts, with macros between them, and a call the choice of two."""
    text = code(root)
    for call in re.findall(r"\bstatus_line\((.*?)\);", text, re.S):
        for parts in re.findall(r'"[a-z][^"]*"(?:\s*\w+\s*"[^"]*")*', call):
            words = "".join(re.findall(r'"([^"]*)"', parts))
            yield "line " + re.sub(r"(%[.\d]*[a-z]?)+", "%", words)
    yield from ("line on-lost %s %%" % what for what in re.findall(r'\bon_lost_line\(\w+, "(\w+)"', text))
    for name in re.findall(r'\[(?:CAUSE_(?!NONE|ENDED)|ZKL_LOSS_)\w+\] = "(\w+)"', (root / "tools/guard/termination.c").read_text()):
        yield "reason " + name


# ---- what is watched ----


def metrics(root, _):
    text = (root / "lib/session/stats.c").read_text()
    kinds = {"COUNTER": "counter", "GAUGE": "gauge", "GAUGE_MS": "gauge", "HISTOGRAM": "histogram"}
    for path, kind, name in re.findall(r'\b(PATH_)?SAMPLE\((\w+), [\w.#]+,\s+"(\w+)"', text):
        yield "metric zkl_%s%s %s" % (path.lower(), name, kinds[kind])
    for reason in re.findall(r'^    FAILED\(\w+, "(\w+)"\)', text, re.M):
        yield 'metric zkl_acquisition_failures_total{reason="%s"} counter' % reason
    for reason in re.findall(r"^    LOST\((\w+)\)", text, re.M):
        yield 'metric zkl_grants_lost_total{reason="%s"} counter' % reason
    for name in sorted(set(re.findall(r'"(zkl_[a-z_]+)"', code(root)))):
        yield "metric %s %s" % (name, "counter" if name.endswith("_total") else "gauge")
    bounds = re.search(r"\bstats_bounds\[\w+\] = \{(.*?)\}", text, re.S)[1]
    yield from ("bucket " + bound for bound in re.findall(r'"([^"]+)"', bounds))


def events(root, _):
    """Those of the header, which has all that the code writes (headers.sh)."""
    text = (root / "include/zkl/session.h").read_text()
    listed = text[text.index("The events of a session:") : text.index("Levels that are not given")]
    for names in re.findall(r"^ \*   (\w[a-z-]*(?:, [a-z-]+)*):", listed, re.M):
        yield from ("event " + name for name in names.split(", "))


# ---- what programs name ----


def python_modules(root):
    """Each public module with its tree and the names that it gives."""
    for path in sorted((root / "python/zkl").glob("[a-z]*.py")):
        tree = ast.parse(path.read_text())
        given = [n.value for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"]
        yield path.stem, tree, ast.literal_eval(given[0])


def python_parameters(entry):
    """Those of "hold(timeout=None)", each with its place unless a keyword alone names it."""
    a = ast.parse("def %s: pass" % entry).body[0].args
    defaults = [None] * (len(a.args) - len(a.defaults)) + a.defaults
    places = ["%d " % i for i in range(len(a.args))] + [""] * len(a.kwonlyargs)
    for place, one, default in zip(places, a.args + a.kwonlyargs, defaults + a.kw_defaults, strict=True):
        yield place + one.arg + ("=" + ast.unparse(default) if default else "")
    yield from (stars + one.arg for stars, one in (("*", a.vararg), ("**", a.kwarg)) if one)


def python(root, _):
    home, tuples = {members.OBJECTS: "object"}, set()
    for module, tree, names in python_modules(root):
        yield "python " + module
        home.update({name: "%s.%s" % (module, name) for name in names})
        for node in tree.body:
            if not isinstance(node, ast.ClassDef) or node.name not in names:
                continue
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            yield from ("python %s.%s < %s" % (module, node.name, base) for base in bases if base in names or base[-5:] == "Error")
            if "NamedTuple" in bases:
                tuples.add(node.name)
                fields = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign)]
                yield from ("python %s.%s %d %s" % (module, node.name, *field) for field in enumerate(fields))
    for section, entry in sorted(members.python(root)[0]):
        if section in tuples and entry:
            continue
        if section == members.NUMBERS:
            name, *entries = entry.split()
            yield from ["python " + home[name], *("python %s.%s" % (home[name], one) for one in entries)]
            continue
        name = entry.partition("(")[0]
        if section == members.FUNCTIONS or name == section:
            row = "python " + home[name]
        else:
            row = "python %s.%s" % (home[section], name) if name else "python " + home[section]
        yield row + "()" * ("(" in entry)
        if "(" in entry:
            yield from ("%s() %s" % (row, one) for one in python_parameters(entry))


def cxx(root, _):
    for section, entry in sorted(members.cxx(root)[0]):
        if section == members.NUMBERS:
            name, *entries = entry.split()
            yield from ["cxx " + name, *("cxx %s.%s" % (name, one) for one in entries)]
        else:
            yield "cxx " + ".".join([section] * (section != members.TYPES) + [entry] * bool(entry))


# What headers use among themselves.
INNER = "ZKL_API", "ZKL_MUST_CHECK", "ZKL_BEGIN", "ZKL_END", "ZKL_HANDLES", "ZKL_DEFINE_CLEANUP"


def headers(root, _):
    folder = root / "include"
    for path in sorted(f for f in folder.rglob("*") if f.is_file() and f.name != "Makefile.inc"):
        name, text = str(path.relative_to(folder)).removesuffix(".in"), path.read_text()
        yield "header " + name
        inner = {*INNER, *re.findall(r"^#ifndef (\w+)", text, re.M)}  # the latter are guards
        yield from ("macro " + m for m in re.findall(r"^#define (ZKL_\w+)", text, re.M) if m not in inner)
        if not name.endswith("pp"):
            yield from ("inline " + f for f in re.findall(r"^static inline [^(]*\b(zkl_\w+)\(", text, re.M))
            yield from ("auto " + t for t in re.findall(r"^    X\((zkl_\w+), zkl_\w+\)", text, re.M))
    yield from ("module " + path.name.removesuffix(".pc.in") for path in sorted(root.glob("*.pc.in")))


def unit(root, _):
    for path in sorted((root / "examples").glob("*.service")):
        text = path.read_text()
        for key, value in re.findall(r"^(EnvironmentFile|StateDirectory|RuntimeDirectory)=(.*)$", text, re.M):
            yield "unit %s %s=%s" % (path.name, key, value)
        operands = shlex.split(re.search(r"^ExecStart=\S*zkl elect (.*)$", text, re.M)[1])
        command = operands.index("-c")
        yield "unit %s COMMAND=%s" % (path.name, operands[command + 1])
        del operands[command : command + 2]
        for key, value in zip(("PATH", "ID"), (one for one in operands if one[0] != "-"), strict=True):
            yield "unit %s %s=%s" % (path.name, key, value)


# ---- the rows ----

READERS = {
    options: ("verb", "option", "letter", "word"),
    exit_statuses: ("status",),
    environment_variables: ("env",),
    json_members: ("json",),
    status_lines: ("line", "reason"),
    metrics: ("metric", "bucket"),
    events: ("event",),
    python: ("python",),
    cxx: ("cxx",),
    headers: ("header", "macro", "inline", "auto", "module"),
    unit: ("unit",),
}


def rows(root, build, kinds):
    found = [row for read, of in READERS.items() if set(of) & kinds for row in read(root, build)]
    return [row for row in dict.fromkeys(found) if row.split()[0] in kinds]


def compare(old, new):
    """(rows that are lost, and parameters that a call of before must now give, rows that are new)."""
    added = [row for row in new if row not in old]
    called = [(row, re.fullmatch(r"(python \S+\(\)) (\d+ )?\w+", row)) for row in added]
    demanded = [row for row, parameter in called if parameter and parameter[1] in old]
    return [row for row in old if row not in set(new)] + demanded, [row for row in added if row not in demanded]


def main():
    root, build, verb, *kinds = sys.argv[1:]
    kinds = set(kinds) or {kind for of in READERS.values() for kind in of}
    tracked = Path(root) / "tests/lint/interface.txt"
    lines = tracked.read_text().splitlines()
    old = dict.fromkeys(line for line in lines if line and line[0] != "#" and line.split()[0] in kinds)
    new = rows(Path(root), Path(build), kinds)
    broken, added = compare(old, new)
    for word, found in ("broken", broken), ("new", added if verb == "compare" else []):
        print("".join("%s: %s\n" % (word, row) for row in found), end="")
    if verb == "write" and broken:
        sys.exit(1)
    if verb == "write":
        tracked.write_text("\n".join([line for line in lines if line[:1] == "#"] + new) + "\n")


if __name__ == "__main__":
    main()
