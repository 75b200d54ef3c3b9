#!/usr/bin/env python3
"""Writes zkl_NAME.3 from include/zkl/NAME.h and man/examples/NAME.c: a page for each header, in mdoc(7).

usage: man/pages.py ROOT FOLDER. The pages of the tree at ROOT go to FOLDER.
"""
import re
import sys
import textwrap
from pathlib import Path

from headers import Errors, comment_text, declarations, function_name, headers, list_of

DATE = "November 27, 2026"
# What the whole family has in common, beside what each function says.
THREADS = {
    "cleanup": "A locker belongs to the thread that made it.",
    "election": "The functions of a started election are called on the thread for callbacks, one at a time.",
    "glib": "Callbacks run in the thread of the main context to which the source is attached.",
    "mutex": "A lock that\n.Fn zkl_mutex_lock\nacquired belongs to the calling thread, or to the owner that the option\n.Fa key\nnames.",
    "rwlock": "A level belongs to the calling thread, or to the owner that the option\n.Fa key\nnames.",
    "semaphore": "A grant belongs to no thread: any thread may release it.",
    "multilock": "A grant belongs to no thread: any thread may release it.",
    "error": "Each thread has a last failure of its own.",
    "session": "With the option\n.Fa dispatch ,\ncallbacks run inside\n.Fn zkl_session_dispatch .",
}
ALL_THREADS = (
    "Any thread may call these functions, even inside a callback.\nA function that would have to wait there"
    " returns ZKL_EDEADLK instead.\nCallbacks of a session run one at a time, in the order of events, on a thread of"
    " the library; see\n.Xr zkl 3 ,\nThreads and callbacks."
)
ALSO = {
    "session": ["zkl_glib 3", "zkl_zookeeper 3"],
    "mutex": ["zkl_grant 3", "zkl_op 3", "zkl_rwlock 3"],
    "rwlock": ["zkl_grant 3", "zkl_mutex 3"],
    "semaphore": ["zkl_grant 3"],
    "multilock": ["zkl_grant 3", "zkl_mutex 3"],
    "grant": ["zkl_multi 3", "zkl_mutex 3"],
    "election": ["zkl_grant 3", "zkl_watch 3"],
    "queue": ["zkl_watch 3", "zkl 1"],
    "member": ["zkl_shards 3", "zkl_watch 3", "zkl 1"],
    "shards": ["zkl_grant 3", "zkl_member 3", "zkl-shards 1"],
}


def safe(line):
    """A line of text that is no request."""
    return re.sub(r"^([.'])", r"\\&\1", line)


def reference(match):
    """A function or another page, with the marks around it, as a line of its own."""
    before, function, page, section, behind = match.groups()
    name = ".Fn " + function if function else ".Xr %s %s" % (page, section)
    return "\n" + " ".join([name.replace(" ", " ( ", 1) if before else name, *behind]) + "\n"


def text_of(words):
    """A paragraph: sentences, and references, begin lines."""
    s = re.sub(r"(?<=[.!?]) (?=[A-Z])", "\n", " ".join(words).replace("\\", "\\e").replace("…", "..."))
    s = re.sub(r"(?<!\S)(\(?)(?:((?:zkl|pthread|zoo)_\w+|poll)\(\)|(zkl(?:-interop)?)\((\d)\))([.,:;)]*)(?!\S)", reference, s)
    return "\n".join(safe(line.strip()) if not re.match(r"\.(Fn|Xr) ", line) else line for line in s.split("\n") if line.strip())


def code_of(text):
    text = re.sub(r"(?m) +\\$", r" \\", text)
    return "\n".join(safe(line) for line in text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...").split("\n"))


def display(text):
    return [".Bd -literal -offset indent", code_of(text), ".Ed", ".Pp"]


def listing(entries):
    return [".Bl -tag -width Ds", *entries, ".El", ".Pp"] if entries else []


def tidy(lines):
    """The lines without empty paragraphs: those before and after what begins or ends a paragraph by itself."""
    text = re.sub(r"^\.Pp\n(?=\.(?:B[dl]|E[dl]|It|Pp|S[hs])\b)", "", "\n".join(lines) + "\n", flags=re.M)
    return re.sub(r"(?m)^(\.(?:It|S[hs]) .*\n)\.Pp\n", r"\1", text)


def split(lines):
    """What a function does; its sentence of returns; its list of errors; since when."""
    text = "\n".join(lines)
    since = re.search(r"\s*Since (\d+(?:\.\d+)*)\.?\s*$", text)
    head, errors, after = list_of(text[: since.start()] if since else text)
    start = max([found.start() for found in re.finditer(r"\b(Returns?|Also returns)\b", head)], default=-1)
    returns = ""
    if errors and start >= 0:
        returns = re.sub(r"(; or|, but)?$", "", " ".join(head[start:].split()))
        returns = re.sub(r"^Return\b", "Returns", returns)
        head = head[:start]
    elif start >= 0:
        returns = " ".join(re.findall(r"Returns (?:[^.]|\.(?! ))*\.", " ".join(head.split("\n"))))
    return (head + "\n" + after).strip("\n").split("\n"), returns, errors, since.group(1) if since else ""


def prototype(code):
    kind, name, parameters = re.match(r"ZKL_API (.*?)(zkl_\w+)\((.*)\);", " ".join(code.split())).groups()
    return [".Ft " + kind.strip(), ".Fo " + name, *('.Fa "%s"' % p.strip() for p in parameters.split(",")), ".Fc"]


def page(name, header, text, example, returned):
    title = comment_text(re.match(r"/\*.*?\*/", text, re.S).group(0))
    all_items = list(declarations(text))
    functions = [(c, d) for c, d in all_items if d.startswith("ZKL_API")]
    types = [(c, d) for c, d in all_items if d and not d.startswith("ZKL_API")]
    names = [function_name(d) for _, d in functions] or ["zkl_" + name]
    first = " ".join(title).split(". ")[0].rstrip(".")
    out = ['.\\" Written by man/pages.py from include/%s and man/examples/%s.c.' % (header, name)]
    out += [".Dd " + DATE, ".Dt ZKL_%s 3" % name.upper(), ".Os zkl"]
    out += ['.\\" Names must be found by searching: no word is broken.', ".hla none"]
    out += [".Sh NAME", " ,\n".join(".Nm " + n for n in names), ".Nd " + first[0].lower() + first[1:]]
    out += [".Sh SYNOPSIS", ".In " + ("zkl.h" if header.startswith("zkl/") else header)]
    out += [line for _, d in functions for line in prototype(d)] + [".Sh DESCRIPTION"]
    rest = " ".join(title).split(". ", 1)
    if name == "cleanup":
        out += description(title)
    elif len(rest) > 1:
        out.append(text_of([rest[1]]))
    for c, d in all_items:
        out += common(c) if not d else []
    returns, errors, described = [], [], ""
    for c, d in functions:
        body, value, codes, since = split(comment_text(c)) if c else ([], "", [], "")
        fn = function_name(d)
        described = fn if c else described
        out += [".Ss %s()" % fn] + (description(body) if c else ["Described with\n.Fn %s ." % described])
        if since:
            out += [".Pp", "Since %s." % since]
        if codes:
            value = value.replace("Also returns", "Returns what all have in common") + "; or one of the errors below."
            errors.append((fn, codes))
        if value:
            returns.append((fn, value))
    if types:
        out.append(".Sh TYPES")
        for c, d in types:
            out += (description(comment_text(c)) if c else []) + [".Pp", *display(d)]
    if returns:
        out += [".Sh RETURN VALUE"] + listing([line for fn, value in returns for line in (".It Fn " + fn, text_of([value]))])
    if errors:
        out += [".Sh ERRORS"] + listing([line for fn, codes in errors for line in [".It Fn " + fn, *entries(codes)]])
    if name == "error":
        out += [".Sh ERRORS"] + by_error(re.findall(r"\b(ZKL_E[A-Z]+) = -", text), returned)
    out += [".Sh THREADS", ALL_THREADS]
    if name in THREADS:
        out += [".Pp", THREADS[name]]
    out += [".Sh EXAMPLE", *display(example.rstrip())]
    see = sorted(["zkl 3", "zkl 7"] + ALSO.get(name, []), key=lambda page: (page[-1], page))
    out += [".Sh SEE ALSO", " ,\n".join(".Xr " + page for page in see)]
    return tidy(out)


def entries(errors):
    """A list of errors, and what is said after it."""
    out, behind = [], []
    for codes, why in errors:
        if codes.startswith("ZKL_"):
            out += [".It Er " + codes.replace(",", " ,"), text_of([why or "As zkl(3) says."])]
        else:
            behind += [text_of(["and " + codes + "."])]
    return listing(out) + behind


def by_error(codes, returned):
    """Each error with the functions that return it, or, if few do not, with these."""
    out = ["Each error, and the functions that return it or give it to their completion."]
    out += ["The tests have seen each of them return it."]
    listed = []
    for code in codes:
        names = sorted(name for name in returned if code in returned[name])
        others = sorted(returned.keys() - set(names))
        most = len(names) > 3 * len(others)
        listed += [".It Er " + code] + (["All that return a code" + (", but" if others else ".")] if most else [])
        shown = others if most else names
        listed += [".Fn %s%s" % (name, " ," if name != shown[-1] else "") for name in shown]
    return out + listing(listed)


def common(comment):
    """A comment of many functions, with its lists where they are."""
    out, rest = [], "\n".join(comment_text(comment))
    while rest:
        text, errors, rest = list_of(rest)
        out += [".Pp"] + description(text.split("\n")) + [".Pp"] + entries(errors)
    return out


def listed(lines):
    """A paragraph that names things in a list, one an entry: "  name, name: what it is"."""
    out, entries, words, name = [], [], [], None
    for line in lines + ["  : "]:
        start = re.match(r"  ([a-z][a-z, -]*)?: (.*)", line)
        behind = name and not line.startswith(" ")
        if start or behind:
            if name:
                entries += [".It Sy " + code_of(name), text_of(words)]
            elif words:
                out += [text_of(words)]
            if behind or not start.group(1):
                out, entries = out + listing(entries), []
            name, words = (start.group(1), [start.group(2)]) if start else (None, [line])
        else:
            words.append(line.strip())
    return out


def description(lines):
    out = []
    for group in re.split(r"\n\n+", "\n".join(lines).strip("\n")):
        program = re.match(r"( {4}.*(\n|$))+$", group)
        if group:
            out += [".Pp"] + (display(textwrap.dedent(group)) if program else listed(group.split("\n")))
    return out


def pages(root):
    """The file's name of each page, and its text."""
    returned = Errors(root).all
    for name, header, text in headers(root):
        yield "zkl_%s.3" % name, page(name, header, text, Path(root, "man/examples/%s.c" % name).read_text(), returned)


if __name__ == "__main__":
    for file, made in pages(sys.argv[1]):
        Path(sys.argv[2], file).write_text(made)
