#!/usr/bin/env python3
"""What programs have compiled in of include/: rows of text, which only grow as long as the soname stays.

    constant NAME VALUE; value NAME VALUE            a value is an enumerator's
    enum NAME SIZE
    struct NAME.MEMBER OFFSET OFFSET OFFSET: TYPE    with each of BITS
    struct NAME size SIZE SIZE SIZE                  last, and of structs alone that get no new members
    callback NAME: TYPE
    function NAME@VERSION: TYPE

usage: tests/lint/abi.py SOURCE BUILD compare  what the headers have otherwise than tests/lint/libzkl0.abi: "broken: ROW"
                                               or "new: ROW"
       tests/lint/abi.py SOURCE BUILD write    adds what is new, and writes debian/libzkl0.symbols; 1 if a row is broken
       tests/lint/abi.py SOURCE BUILD symbols  prints debian/libzkl0.symbols
"""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "man"))
from headers import declarations, headers  # noqa: E402

# The last: 32 bits where an int64_t is aligned to 8 bytes, as on ARM. There need be no library for any of them.
BITS = ["-m64"], ["-m32"], ["-m32", "-malign-double"]
MARK = "@row"


def plain(code):
    return " ".join(re.sub(r"/\*.*?\*/", " ", code, flags=re.S).split())


def parameters(text):
    """Their types, without their names."""
    named = (re.fullmatch(r"(.*[ *])\w+((?:\[\w*\])?)", p.strip()) for p in text.split(","))
    return text if text == "void" else ", ".join((m[1].strip() + " " + m[2]).strip() for m in named)


def function(result, text):
    return "%s (%s)" % (result.strip(), parameters(text))


class Interface:
    """The rows, and what a compiler is to say for them: each is words, and expressions between them."""

    def __init__(self, root):
        self.parts = []
        for file in sorted([*(root / "include").glob("zkl*.h"), *(root / "include/zkl").glob("*.h")]):
            if file.name != "version.h":
                for name, value in re.findall(r"^#define (ZKL_\w+) (\w+)$", file.read_text(), re.M):
                    self.parts.append(["constant %s" % name, [value]])
        for _, header, text in headers(root):
            for comment, code in declarations(text):
                for one in re.findall(r"(?:typedef|enum)(?:[^;{]|\{[^}]*\})*;", plain(code)):
                    self.add(one, "may append members" in plain("(" + comment.replace("\n *", " ")[2:-3]))
        self.parts += [["function %s@ZKL_%s: %s" % f] for f in self.functions(root)]

    def add(self, code, grows):
        kind = re.fullmatch(r"(?:typedef )?(enum|struct) ?(\w*) ?\{ (.*) \} ?\w*;", code)
        if kind and kind[1] == "enum":
            if kind[2]:
                self.parts.append(["enum %s" % kind[2], ["sizeof(%s)" % kind[2]]])
            for name in re.findall(r"(\w+) = ", kind[3]):
                self.parts.append(["value %s" % name, [name]])
        elif kind:
            self.struct(kind[2], kind[3], grows)
        elif callback := re.fullmatch(r"typedef (.*)\(\*(\w+)\)\((.*)\);", code):
            self.parts.append(["callback %s: %s" % (callback[2], function(callback[1], callback[3]))])
        elif not re.fullmatch(r"typedef struct (\w+) \1;", code):
            raise ValueError("what is this? " + code)

    def struct(self, name, text, grows):
        members = [re.fullmatch(r"(.*?)(?:\(\*(\w+)\)\((.*)\)|(\w+)((?:\[\w+\])?))", m.strip()) for m in text.split(";") if m.strip()]
        for m in members:
            type_ = function(m[1], m[3]) if m[2] else (m[1].strip() + " " + m[5]).strip()
            at = "offsetof(%s, %s)" % (name, m[2] or m[4])
            self.parts.append(["struct %s.%s" % (name, m[2] or m[4]), [at] * len(BITS), ": " + type_])
        if not grows and members[0][4] != "size":
            self.parts.append(["struct %s size" % name, ["sizeof(%s)" % name] * len(BITS)])

    @staticmethod
    def functions(root):
        files = sorted([*(root / "include").glob("*.h"), *(root / "include/zkl").glob("*.h"), *(root / "include/zkl").glob("*.h.in")])
        said = subprocess.run(["awk", "-f", root / "lib/functions.awk", *files], check=True, capture_output=True, text=True)
        for line in said.stdout.splitlines():
            version, result, name, types = re.fullmatch(r"(\S+) ZKL_API (.*?)(\w+)\((.*)\);", line).groups()
            yield name, version, function(result, types)

    def numbers(self, root, build):
        """For each of BITS, the value of each expression. In two halves: an int64_t is none of asm's constants."""
        every = [e for p in self.parts for e in dict.fromkeys(p[1] if len(p) > 1 else [])]
        halves = "(int)((long long)(%s) >> 32)", "(int)(long long)(%s)"
        asm = ('asm("%s %%c0 %%c1" : : "i"(%s), "i"(%s));' % (MARK, *(h % e for h in halves)) for e in every)
        text = "#include <zkl.h>\nvoid rows(void);\nvoid rows(void)\n{\n%s\n}\n" % "\n".join(asm)
        for bits in BITS:
            command = ["gcc", "-ffreestanding", "-std=gnu11", "-w", *bits, "-x", "c", "-S", "-o", "-", "-"]
            command[1:1] = ["-I%s/include" % root, "-I%s/include" % build]
            said = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
            values = [int(h) << 32 | int(l) & 0xFFFFFFFF for h, l in re.findall(MARK + r" (-?\d+) (-?\d+)", said)]
            yield dict(zip(every, values, strict=True))

    def rows(self, root, build):
        numbers = list(self.numbers(root, build))
        for words, *rest in self.parts:
            values = [str(n[e]) for e, n in zip(rest[0], numbers)] if rest else []
            yield " ".join([words, *values]) + "".join(rest[1:])


def struct_of(row):
    return re.match(r"struct (\w+)|", row)[1]


def place_of(row):
    """The struct, offsets and type of a member: what may take the place of one that is reserved."""
    member = re.fullmatch(r"(struct \w+)\.\w+( .*)", row)
    return member and member.groups()


def compare(old, new):
    """(broken rows of the old ones and members that came before one of them, rows that are new)."""
    places = {place_of(r) for r in new}
    old = [r for r in old if r in set(new) or ".reserved " not in r or place_of(r) not in places]
    last = {struct_of(r): i for i, r in enumerate(new) if r in set(old)}
    added = [(i, r) for i, r in enumerate(new) if r not in set(old)]
    between = [r for i, r in added if struct_of(r) and i < last.get(struct_of(r), -1)]
    return [r for r in old if r not in set(new)] + between, [r for _, r in added if r not in between]


def symbols(rows):
    """What dpkg-gensymbols reads. A function is as old as its version of symbols."""
    names = sorted(re.findall(r"^function (\w+)@ZKL_([0-9.]+):", "\n".join(rows), re.M))
    nodes = sorted({("ZKL_" + version, version) for _, version in names})
    lines = [" %s@ZKL_%s %s.0~" % (name, version, version) for name, version in nodes + names]
    return "\n".join(["libzkl.so.0 libzkl0 #MINVER#", "* Build-Depends-Package: libzkl-dev", *lines]) + "\n"


def main():
    root, build, verb = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    tracked = root / "tests/lint/libzkl0.abi"
    new = list(Interface(root).rows(root, build))
    broken, added = compare(tracked.read_text().splitlines() if tracked.exists() else [], new)
    if verb == "symbols":
        print(symbols(new), end="")
        return
    for word, rows in ("broken", broken), ("new", added if verb == "compare" else []):
        print("".join("%s: %s\n" % (word, row) for row in rows), end="")
    if verb == "write" and broken:
        sys.exit(1)
    if verb == "write":
        tracked.write_text("\n".join(new) + "\n")
        (root / "debian/libzkl0.symbols").write_text(symbols(new))


if __name__ == "__main__":
    main()
