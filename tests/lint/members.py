#!/usr/bin/env python3
"""What the pages of C++ and Python do not say of the public interface, and what they say that there is not:
members.py cxx|python ROOT. The headers and modules are read as text: nothing is built, nor loaded."""

import ast
import re
import subprocess
import sys
from pathlib import Path

# Sections that are of no class. What each object has is said in one of them.
OBJECTS, FUNCTIONS, TYPES, NUMBERS = "Objects", "Functions", "Functions and types", "Numbers"

# Classes whose objects no user makes: another object or a function does.
MADE_BY_US = {"Grant", "OwnedGrant", "Members", "Queue", "Watch", "Stats", "Error"} | {
    "contender", "error", "grant", "grant_view", "member_info", "members", "operation", "queue", "snapshot", "watch"}


# ---- a page ----


def plain(text):
    for mark, sign in ((r"\-", "-"), (r"\(aq", "'"), (r"\(dq", '"'), (r"\&", ""), (r"\e", "\\")):
        text = text.replace(mark, sign)
    return text


def said(page):
    """What is listed below .Sh CLASSES, as pairs of a section and an entry: "acquire(timeout=None)", "token", and of
    numbers with names all of them."""
    classes = re.search(r"^\.Sh CLASSES\n(.*?)^\.Sh ", page.read_text(), re.S | re.M)
    for part in re.split(r"^\.Ss ", classes[1] if classes else "", flags=re.M)[1:]:
        section, _, entries = part.partition("\n")
        if section not in (OBJECTS, FUNCTIONS, TYPES, NUMBERS):
            yield section, ""
        for entry in re.split(r"^\.It ", entries, flags=re.M)[1:]:
            head, _, text = entry.partition("\n")
            kind, *words = [plain(quoted or word) for quoted, word in re.findall(r'"([^"]*)"|(\S+)', head)]
            if kind == "Fn":
                yield section, "%s(%s)" % (words[0], ", ".join(words[1:]))
            elif kind == "Va":
                yield from ((section, word) for word in words if word != ",")
            else:
                yield section, " ".join(words + re.findall(r"\w+", re.sub(r"^\..*", "", text, flags=re.M)))


# ---- Python ----


def parameters(function, method):
    """As in the source, without types."""
    a = function.args
    plain_ones = a.posonlyargs + a.args
    defaults = [None] * (len(plain_ones) - len(a.defaults)) + a.defaults
    listed = list(zip(plain_ones, defaults))[1 if method else 0 :]
    given = [one.arg + ("=" + ast.unparse(default) if default else "") for one, default in listed]
    if a.vararg:
        given.append("*" + a.vararg.arg)
    elif a.kwonlyargs:
        given.append("*")
    given += [one.arg + ("=" + ast.unparse(default) if default else "") for one, default in zip(a.kwonlyargs, a.kw_defaults)]
    if a.kwarg:
        given.append("**" + a.kwarg.arg)
    return ", ".join(given)


def name_of(base):
    """Handle, Snapshot[MemberInfo], _c.Stats."""
    return name_of(base.value) if isinstance(base, ast.Subscript) else base.attr if isinstance(base, ast.Attribute) else base.id


def decorated(function, by):
    return any(getattr(one, "id", getattr(one, "attr", "")) == by for one in function.decorator_list)


def attributes(init):
    """What the constructor gives the object."""
    for node in ast.walk(init):
        for target in node.targets if isinstance(node, ast.Assign) else []:
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(one, ast.Attribute) and getattr(one.value, "id", "") == "self" and one.attr[0] != "_":
                    yield one.attr


def of_class(node, classes, public):
    """The entries of a class: its constructor, its members, and those of bases that are not public."""
    bases = [name_of(base) for base in node.bases]
    made = {}
    for base in reversed(bases):
        if base in classes and base not in public and base not in ("Handle", "Snapshot"):
            made.update(of_class(classes[base], classes, public))
    made.pop("__init__", None)
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and "NamedTuple" in bases:
            made[one.target.id] = one.target.id
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if one.name == "__init__":
            made.update({name: name for name in attributes(one)})
            made["__init__"] = "%s(%s)" % (node.name, parameters(one, True))
        elif one.name[0] != "_":
            made[one.name] = one.name if decorated(one, "property") else "%s(%s)" % (one.name, parameters(one, True))
    return made


def python(root):
    declared = subprocess.run([sys.executable, "-B", root / "python/declarations.py", root], check=True,
                              stdout=subprocess.PIPE, encoding="utf-8").stdout
    numbers = {node.name: node for node in ast.parse(declared).body if isinstance(node, ast.ClassDef)}
    public, classes, functions = set(), {}, {}
    for path in sorted((root / "python/zkl").glob("*.py")):
        if path.name == "_c.py":
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
            elif isinstance(node, ast.FunctionDef):
                functions[node.name] = node
            elif isinstance(node, ast.Assign) and node.targets[0].id == "__all__" and path.name != "__init__.py":
                public |= set(ast.literal_eval(node.value))
    due = {(OBJECTS, entry) for entry in of_class(classes["Handle"], classes, public).values()
           if not entry.startswith("Handle(")}
    for name in public:
        if name in classes:
            entries = of_class(classes[name], classes, public)
            if name in MADE_BY_US:
                entries.pop("__init__", None)
            due |= {(name, "")} | {(name, entry) for entry in entries.values()}
        elif name in functions:
            due.add((FUNCTIONS, "%s(%s)" % (name, parameters(functions[name], False))))
        else:
            members = [one.targets[0].id for one in numbers[name].body if isinstance(one, ast.Assign)]
            due.add((NUMBERS, " ".join([name] + members)))
    return due, root / "man/zkl-python.7"


# ---- C++ ----

# The other headers call this member of a session.
FOR_HEADERS = "environment()"


def declarations(text):
    """Splits the text between two braces into (what is declared, what is between its own braces)."""
    head, depth, begin = "", 0, 0
    for i, sign in enumerate(text):
        if sign == "{":
            if depth == 0:
                begin = i + 1
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                body = text[begin:i]
                # A function ends with its body; a class, an enumeration and a member's value go on to the semicolon.
                if re.search(r"\b(class|struct|enum|namespace)\s[^()]*$|\)[^;]*$", head) and not re.search(r"=\s*$", head):
                    yield head.strip(), body
                    head = ""
        elif depth == 0 and sign == ";":
            if head.strip():
                yield head.strip(), ""
            head = ""
        elif depth == 0:
            head += sign
    assert depth == 0, text


def without_templates(head):
    """"template <class Rep> bool f" is "bool f", and std::function<void()> is std::function."""
    head = re.sub(r"^(\s*(public|private|protected)\s*:)*", "", head)
    depth, made = 0, ""
    for sign in head.replace("operator<", "operator"):
        depth += sign == "<"
        made += sign if depth == 0 else ""
        depth -= sign == ">"
    return made.strip()


def names_declared(head):
    """The name of a function, or of each member that a declaration has; none of constructors and operators."""
    head = without_templates(head)
    if re.match(r"(friend|static_assert|using namespace|namespace)\b", head) or "operator" in head or "~" in head:
        return []
    if head.startswith("using "):
        return [head.split()[1]]
    function = re.search(r"(\w+)\s*\(", head)
    if function:
        return [function[1] + "()"]
    return re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", head)


def members_of(name, text, is_public):
    """Each public member of a class."""
    for head, body in declarations(text):
        for access in re.findall(r"\b(public|private|protected)\s*:", head):
            is_public = access == "public"
        if is_public:
            yield from set(names_declared(head)) - {FOR_HEADERS} - ({name + "()"} if name in MADE_BY_US else set())


def cxx(root):
    due = set()
    for path in sorted((root / "include/zkl").glob("*.hpp")):
        text = re.sub(r"/\*.*?\*/|//[^\n]*|^#.*?$", "", path.read_text(), flags=re.S | re.M)
        for space, outer in declarations(text):
            if space != "namespace zkl":
                continue
            for head, body in declarations(outer):
                head = re.sub(r"\b(ZKL_API|inline|final)\b", "", head).strip()
                kind = re.search(r"\b(enum class|class|struct)\s+(\w+)(?=\s*(:|$))", without_templates(head))
                if head.startswith("namespace detail"):
                    continue
                if kind and kind[1] == "enum class":
                    members = re.findall(r"(\w+)\s*=", body)
                    due.add((NUMBERS, " ".join([kind[2]] + members)))
                elif kind:
                    found = members_of(kind[2], body, kind[1] == "struct")
                    due |= {(kind[2], "")} | {(kind[2], one) for one in found}
                else:
                    due |= {(TYPES, one) for one in names_declared(head)}
    return due, root / "man/zkl-cpp.7"


def main(kind, root):
    due, page = {"cxx": cxx, "python": python}[kind](Path(root))
    # The parameters of C++, where each function has several forms, are for people.
    found = {(section, re.sub(r"\(.*\)", "()", entry) if kind == "cxx" else entry) for section, entry in said(page)}
    for what, entries in ("is missing", due - found), ("is said, and is not there", found - due):
        for section, entry in sorted(entries):
            print("%s: %s%s%s %s" % (page.name, section, ": " if entry else "", entry, what))


if __name__ == "__main__":
    main(*sys.argv[1:])
