"""What the headers in include/ say, for man/pages.py and man/errors.py: declarations, and the errors of each function."""
import re
from pathlib import Path

NO_ERRORS = ("zkl_last_error",)  # returns an int that is none of its own; as tests/seen/calls.awk


def headers(root="."):
    """(name of the page, header, its text) of all headers but zkl.h and zkl/api.h, which have zkl(3)."""
    include = Path(root, "include")
    for file in sorted([*include.glob("zkl-*.h"), *include.glob("zkl/*.h"), *include.glob("zkl/*.h.in")]):
        # Of a header that configure makes, the source: a build elsewhere has the header there.
        if file.name != "api.h" and not file.with_name(file.name + ".in").exists():
            header = str(file.relative_to(include)).removesuffix(".in")
            yield re.split("[/-]", header.removesuffix(".h"))[1], header, file.read_text()


def comment_text(comment):
    """The lines of a comment without its stars; a line of a list keeps its indent."""
    body = comment.strip()[2:-2]
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in body.split("\n")]
    return [lines[0].strip()] + lines[1:]


def items(text):
    """(comment, declaration) of all that a header declares, in its order; a comment may stand alone. An empty line
    ends a declaration, but not within its braces."""
    inner = text[text.index("ZKL_BEGIN") + len("ZKL_BEGIN") : text.rindex("ZKL_END")]
    braced = r"(?:[^\n/ ][^\n]*)?\{\n(?:(?!\})[^\n]*\n)*"
    for comment, code in re.findall(r"(/\*(?:(?!\*/).)*\*/\n)?((?:%s|[^\n/][^\n]*\n)*)" % braced, inner, re.S):
        if comment or code:
            yield comment, code


def declarations(text):
    """The items, one for each function; a heading between them is none."""
    for comment, code in items(text):
        if not code and not comment.startswith("/* ----"):
            yield comment, ""
        while code.startswith("ZKL_API"):
            end = code.index(";") + 1
            yield comment, re.sub(r"\s+ZKL_MUST_CHECK(?=;)", "", code[:end])
            comment, code = "", code[end:].lstrip("\n")
        if re.match(r"static|struct|typedef|enum|#define", code):
            yield comment, code.rstrip()


def function_name(code):
    return re.search(r"\b(zkl_\w+)\(", code).group(1)


def list_of(text):
    """What is before a list of errors, its entries (codes, why), and what is after it."""
    listed = re.search(r"\n {2,}ZKL_E", text)
    if not listed:
        return text, [], ""
    tail = text[listed.start() + 1 :]
    end = re.search(r"\n(?! )", tail)
    entries = tail[: end.start()] if end else tail
    errors = []
    for entry in re.split(r";\n(?= +\w)", entries):
        codes, _, why = " ".join(entry.split()).rstrip(".").partition(": ")
        errors.append((codes, why + "." if why else ""))
    return text[: listed.start()], errors, tail[end.end() :] if end else ""


def codes_of(text):
    return set(re.findall(r"\bZKL_E[A-Z]+\b", text))


class Errors:
    """Which errors each function returns, or gives to its completion, as the comments say.

    A function has the codes of its own lists and of the sentences that begin with "Returns"; those of the
    function that it returns "as", or that a list names, but for those after "except" there; and, if its comment
    has no such sentence, those of the comment before it that stands alone. One that ends in _async has those of
    the function without it, but for ZKL_EDEADLK and what its comment excepts."""

    def __init__(self, root="."):
        self.comments, self.groups = {}, {}
        for _, _, text in headers(root):
            comment, group = "", ""
            for c, code in declarations(text):
                if not code:
                    group = c
                elif re.match(r"ZKL_API int ", code):
                    comment = c or comment
                    self.comments[function_name(code)] = "\n".join(comment_text(comment))
                    self.groups[function_name(code)] = self.common(group, code)
        self.all = {name: self.resolved(name) for name in self.comments if name not in NO_ERRORS}

    @staticmethod
    def common(comment, code):
        """The codes that a comment of many functions gives to this one."""
        codes, rest = set(), "\n".join(comment_text(comment)) if comment and "timeout_ms" in code else ""
        while rest:
            text, errors, rest = list_of(rest)
            said = text.rsplit("\n\n", 1)[-1]
            if "_async" not in said and ("fence" in code or not re.search(r"that write|with a fence", said)):
                codes |= codes_of(" ".join(c for c, _ in errors))
        return codes

    def listed(self, name):
        """The entries of the function's own lists, before what makes each entry."""
        rest = self.comments[name]
        while rest:
            _, errors, rest = list_of(rest)
            yield from (codes for codes, _ in errors)

    def resolved(self, name):
        if name not in self.comments:
            raise ValueError("%s: a function has its codes (as X_async has those of X), and no header declares it" % name)
        flat, codes, others, excepted = " ".join(self.comments[name].split()), set(), [], {}
        base = re.sub(r"_async$", "", name)
        if name.endswith("_async"):
            err = re.search(r"\berr has .*", flat)
            others = re.findall(r"codes that (zkl_\w+)\(\)", flat) or [base]
            codes = self.resolved(others[0]) - {"ZKL_EDEADLK"}
            if err:
                codes -= codes_of(" ".join(re.findall(r"\bexcept ([^.;]*)", err.group(0))))
                codes |= codes_of(" ".join(re.findall(r"; or ZKL_E\w+", err.group(0))))
        else:
            others = re.findall(r"\b(?:Returns as|As) (zkl_\w+)\(\)(?: does|; or|, but|\.|;)", flat) + [base] * (base != name)
            if not re.search(r"\bReturns\b", flat):
                codes = set(self.groups[name])
            said = re.findall(r"\b[Rr]eturns? (?:[^.]|\.(?! ))*\.", re.sub(r", except [^;.]*", "", flat))
            codes |= codes_of(" ".join(said))
        for entry in self.listed(name):
            own, _, but = entry.partition(", except ")
            codes |= codes_of(own)
            excepted.update(dict.fromkeys(re.findall(r"codes of (zkl_\w+)\(\)", own), codes_of(but)))
        others += excepted
        inherited = [] if name.endswith("_async") else others
        return codes.union(*(self.resolved(other) - excepted.get(other, set()) for other in inherited))
