#!/usr/bin/env python3
"""Writes man/zkl_NAME.3 from include/zkl/NAME.h and man/examples/NAME.c: a page for each header.

usage: man/pages.py [--check] (in the top folder). man/links says which function is on which page.
--check writes nothing, and fails if a file differs.
"""
import re
import sys
import textwrap
from pathlib import Path

from headers import comment_text, declarations, function_name, headers, list_of

# What the whole family has in common, beside what each function says.
THREADS = {
    "cleanup": "A locker belongs to the thread that made it.",
    "election": "The functions of a started election are called on the thread for callbacks, one at a time.",
    "glib": "Callbacks run in the thread of the main context to which the source is attached.",
    "mutex": "A lock that \\fBzkl_mutex_lock\\fP() acquired belongs to the calling thread, or to the owner that the option \\fIkey\\fP names.",
    "rwlock": "A level belongs to the calling thread, or to the owner that the option \\fIkey\\fP names.",
    "semaphore": "A grant belongs to no thread: any thread may release it.",
    "multilock": "A grant belongs to no thread: any thread may release it.",
    "error": "Each thread has a last failure of its own.",
    "session": "With the option \\fIdispatch\\fP, callbacks run inside \\fBzkl_session_dispatch\\fP().",
}
ALL_THREADS = (
    "Any thread may call these functions, also inside a callback. A function that would have to wait there"
    " returns ZKL_EDEADLK instead. Callbacks run one at a time, in the order of events, on a thread of the"
    " library; see \\fBzkl\\fP(3), Threads and callbacks."
)
ALSO = {
    "session": ["zkl_glib.3", "zkl_zookeeper.3"],
    "mutex": ["zkl_grant.3", "zkl_op.3", "zkl_canceler.3", "zkl_rwlock.3"],
    "rwlock": ["zkl_grant.3", "zkl_mutex.3"],
    "semaphore": ["zkl_grant.3", "zkl_canceler.3"],
    "multilock": ["zkl_grant.3", "zkl_mutex.3"],
    "grant": ["zkl_multi.3", "zkl_mutex.3"],
    "election": ["zkl_grant.3", "zkl_watch.3"],
    "queue": ["zkl_watch.3", "zkl.1"],
    "member": ["zkl_watch.3", "zkl.1"],
}


def text_of(words):
    """A paragraph as roff: names of functions bold, nothing taken for a request."""
    s = " ".join(words).replace("\\", "\\e").replace("…", "...")
    s = re.sub(r"\b(zkl_\w+|pthread_\w+|zoo_\w+|poll)\(\)", r"\\fB\1\\fP()", s)
    s = re.sub(r"\bzkl(-interop)?\((\d)\)", lambda m: "\\fBzkl%s\\fP(%s)" % ((m.group(1) or "").replace("-", "\\-"), m.group(2)), s)
    return re.sub(r"^([.'])", r"\\&\1", re.sub(r"(?<=[.!?]) (?=[A-Z])", "\n", s), flags=re.M)


def code_of(text):
    s = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return re.sub(r"^([.'])", r"\\&\1", s, flags=re.M)


def split(lines):
    """What a function does; its sentence of returns; its list of errors; since when."""
    text = "\n".join(lines)
    since = re.search(r"\s*Since (\d+(?:\.\d+)*)\.?\s*$", text)
    head, errors, after = list_of(text[: since.start()] if since else text)
    start = max(head.rfind("Returns"), head.rfind("Also returns"))
    returns = ""
    if errors and start >= 0:
        returns = re.sub(r"(; or|, but)?$", "", " ".join(head[start:].split()))
        head = head[:start]
    elif start >= 0:
        returns = " ".join(re.findall(r"Returns (?:[^.]|\.(?! ))*\.", " ".join(head.split("\n"))))
    return (head + "\n" + after).strip("\n").split("\n"), returns, errors, since.group(1) if since else ""


def prototype(code):
    return re.sub(r"\s+", " ", code.replace("ZKL_API ", "", 1))


def page(name, header, text, example):
    title = comment_text(re.match(r"/\*.*?\*/", text, re.S).group(0))
    all_items = list(declarations(text))
    functions = [(c, d) for c, d in all_items if d.startswith("ZKL_API")]
    types = [(c, d) for c, d in all_items if d and not d.startswith("ZKL_API")]
    names = [function_name(d) for _, d in functions] or ["zkl_" + name]
    first = " ".join(title).split(". ")[0].rstrip(".")
    out = ['.TH ZKL_%s 3 "" "zkl 0.1" "ZooKeeper locks and leaders"' % name.upper()]
    out += ['.\\" Written by man/pages.py from include/%s and man/examples/%s.c.' % (header, name), ".nh", ".ad l"]
    out += [".SH NAME", ", ".join(names) + " \\- " + first[0].lower() + first[1:]]
    out += [".SH SYNOPSIS", ".nf", ".B #include <%s>" % ("zkl.h" if header.startswith("zkl/") else header)]
    for _, d in functions:
        out += [".PP", ".B " + code_of(prototype(d)).replace("\\-", "-")]
    out += [".fi", ".SH DESCRIPTION"]
    rest = " ".join(title).split(". ", 1)
    if name == "cleanup":
        out += description(title)
    elif len(rest) > 1:
        out.append(text_of([rest[1]]))
    for c, d in all_items:
        out += common(c) if not d else []
    returns, errors = [], []
    for c, d in functions:
        body, value, codes, since = split(comment_text(c)) if c else ([], "", [], "")
        fn = function_name(d)
        out += [".SS %s()" % fn] + description(body)
        if since:
            out += [".PP", "Since %s." % since]
        if codes:
            value = value.replace("Also returns", "Returns what all have in common") + "; or one of the errors below."
            errors.append((fn, codes))
        if value:
            returns.append((fn, value))
    if types:
        out.append(".SH TYPES")
        for c, d in types:
            out += description(comment_text(c)) if c else []
            out += [".PP", ".in +4n", ".EX", code_of(d), ".EE", ".in", ".PP"]
    if functions:
        out.append(".SH RETURN VALUE")
        for fn, value in returns:
            out += [".TP", ".BR %s ()" % fn, text_of([value])]
    if errors:
        out.append(".SH ERRORS")
        for fn, codes in errors:
            out += [".TP", ".BR %s ()" % fn, ".RS"] + entries(codes) + [".RE"]
    out += [".SH THREADS", ALL_THREADS]
    if name in THREADS:
        out += [".PP", THREADS[name]]
    out += [".SH EXAMPLE", ".in +4n", ".EX", code_of(example.rstrip()), ".EE", ".in"]
    see = ["zkl.3"] + ALSO.get(name, []) + ["zkl.7"]
    out += [".SH SEE ALSO", " ,\n".join(".BR %s (%s)" % tuple(s.rsplit(".", 1)) for s in see).replace(") ,", "),")]
    return "\n".join(out) + "\n"


def entries(errors):
    out = []
    for codes, why in errors:
        if not codes.startswith("ZKL_"):
            out += [".PP", text_of(["and " + codes + "."])]
            continue
        out += [".TP", ".B " + codes, text_of([why or "As zkl(3) says."])]
    return out


def common(comment):
    """A comment of many functions, with its lists where they are."""
    out, rest = [], "\n".join(comment_text(comment))
    while rest:
        text, errors, rest = list_of(rest)
        out += [".PP"] + description(text.split("\n")) + entries(errors)
    return out


def listed(lines):
    """A paragraph that names things in a list, one an entry: "  name, name: what it is"."""
    out, words, name = [], [], None
    for line in lines + ["  : "]:
        start = re.match(r"  ([a-z][a-z, -]*)?: (.*)", line)
        behind = name and not line.startswith(" ")
        if start or behind:
            out += ([".TP", ".B " + code_of(name)] if name else []) + ([text_of(words)] if words else [])
            out += [".PP"] if behind else []
            name, words = (start.group(1), [start.group(2)]) if start else (None, [line])
        else:
            words.append(line.strip())
    return out


def description(lines):
    out = []
    for group in re.split(r"\n\n+", "\n".join(lines).strip("\n")):
        program = re.match(r"( {4}.*(\n|$))+$", group)
        shown = [".in +4n", ".EX", code_of(textwrap.dedent(group)), ".EE", ".in"] if program else listed(group.split("\n"))
        out += ([".PP"] if out else []) + shown if group else []
    return out


def main():
    files, links = {}, []
    for name, header, text in headers():
        files["man/zkl_%s.3" % name] = page(name, header, text, Path("man/examples/%s.c" % name).read_text())
        links += ["%s zkl_%s" % (function_name(d), name) for _, d in declarations(text) if d.startswith("ZKL_API")]
    files["man/links"] = "\n".join(sorted(links)) + "\n"
    wrong = 0
    for file, made in files.items():
        if "--check" not in sys.argv:
            Path(file).write_text(made)
        elif not Path(file).exists() or Path(file).read_text() != made:
            print("%s is not what man/pages.py writes" % file)
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
