#!/usr/bin/env python3
"""Prints python/zkl/_c.py, from include/zkl/*.h: constants, enumerations, structs, callbacks and functions, for ctypes.

usage: python/declarations.py SOURCE (the top folder); make calls it.
"""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "man"))
from headers import NO_ERRORS, declarations, headers  # noqa: E402

# Nothing in Python is a GSource or a zhandle_t.
OTHERS = "zkl-glib.h", "zkl-zookeeper.h"
NUMBERS = {
    "int": "c_int",
    "unsigned": "c_uint",
    "int32_t": "c_int32",
    "uint32_t": "c_uint32",
    "int64_t": "c_int64",
    "uint64_t": "c_uint64",
    "size_t": "c_size_t",
}
HEAD = '''"""What include/zkl/*.h declare, for ctypes. Written by python/declarations.py, from make."""

import enum
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_ubyte,
                    c_uint, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, List, Tuple


class Constant(enum.IntEnum):
    """A later library may give numbers that have no name here."""

    @classmethod
    def _missing_(cls, value: Any) -> "Constant":
        member = int.__new__(cls, value)
        member._name_, member._value_ = f"NUMBER_{value}", value
        return member


class Status:
    """The result of a function that returns 0 or more, or an error."""


'''


def camel(name):
    return "".join(word.capitalize() for word in name[len("zkl_") :].split("_"))


class Later(Exception):
    """It needs what was not written yet."""


class Declarations:
    """What the headers declare, as Python."""

    def __init__(self, root):
        self.names, self.enums, self.constants = {}, set(), {}
        self.head, self.out, self.functions = [], [], []
        waiting = [code for _, header, text in headers(root) if header not in OTHERS for code in self.split(text)]
        self.opaque = set(re.findall(r"\bzkl_\w+", (root / "include/zkl/api.h").read_text()))
        while waiting:
            before, waiting = waiting, [code for code in waiting if not self.add(code)]
            if len(waiting) == len(before):
                raise ValueError("what is this? " + waiting[0])

    @staticmethod
    def split(text):
        """The declarations, one at a time, each on a line without comments."""
        for _, code in declarations(text):
            code = " ".join(re.sub(r"/\*.*?\*/", "", code, flags=re.S).split())
            if re.match(r"ZKL_API|#define ZKL_\w+ \d+u?$", code):
                yield code
            elif re.match(r"typedef (?!struct \w+ \w+;)|enum", code):
                yield from re.findall(r"(?:typedef|enum)(?:[^;{]|\{[^}]*\})*;", code)

    def add(self, code):
        """Writes a declaration, unless that must wait for another one."""
        for pattern, write in (
            (r"ZKL_API (.*?) ?(zkl_\w+)\((.*)\);", self.function),
            (r"#define ZKL_(\w+) (\d+)u?", self.constant),
            (r"enum \{ ZKL_(\w+) = (\d+) \};", self.constant),
            (r"(?:typedef )?enum (zkl_\w+)? ?\{ (.*) \} ?(?:\w+)?;", self.enum),
            (r"typedef struct (zkl_\w+) \{ (.*) \} \w+;", self.struct),
            (r"typedef (.*?) ?\(\*(zkl_\w+)\)\((.*)\);", self.callback),
        ):
            match = re.fullmatch(pattern, code)
            if match:
                try:
                    write(*match.groups())
                except Later:
                    return False
                return True
        raise ValueError("what is this? " + code)

    def function(self, result, name, parameters):
        status = result == "int" and name not in NO_ERRORS
        result = "Status" if status else self.kind(result + " _")
        self.functions.append('    "%s": (%s, [%s]),' % (name, result, self.kinds(parameters)))

    def constant(self, name, value):
        self.constants["ZKL_" + name] = value
        self.head.append("%s = %s" % (name, value))

    def enum(self, name, text):
        members = [re.fullmatch(r"ZKL_(\w+) = (-?\d+)", m.strip()).groups() for m in text.split(",")]
        prefix = os.path.commonprefix([m for m, _ in members]).rpartition("_")[0]
        short = [m[len(prefix) :].lstrip("_") for m, _ in members]
        short = short if all(map(str.isidentifier, short)) else [m for m, _ in members]
        name = name or "zkl_code"
        self.enums.add(name)
        lines = ["    %s = %s" % (member, value) for member, (_, value) in zip(short, members)]
        self.out += ["", "", "class %s(Constant):" % camel(name), *lines]

    def struct(self, name, text):
        fields, notes = zip(*(self.field(f.strip()) for f in text.split(";") if f.strip()))
        self.names[name] = camel(name)
        self.out += ["", "", "class %s(Structure):" % camel(name), *notes]
        self.out += ["    _fields_ = [", *("        %s," % f for f in fields), "    ]"]

    def callback(self, result, name, parameters):
        kinds = "%s, %s" % (self.kind(result + " _"), self.kinds(parameters))
        self.names[name] = camel(name)
        self.out += ["", "", "%s = CFUNCTYPE(%s)" % (camel(name), kinds)]

    def kinds(self, parameters):
        return ", ".join(self.kind(p.strip()) for p in parameters.split(",") if parameters != "void")

    def field(self, code):
        """A member of a struct, and what it is for a type checker."""
        base, name, length = re.fullmatch(r"(.*?)(\w+)(?:\[(\w+)\])?", code).groups()
        kind = {"char ": "c_char", "unsigned char ": "c_ubyte"}.get(base) or self.kind(base + "_")
        note = "int" if kind in NUMBERS.values() else kind if kind in self.names.values() and not kind.endswith("Fn") else "Any"
        kind += " * %s" % self.constants.get(length, length) if length else ""
        note = "Any" if length else note
        return '("%s", %s)' % (name, kind), "    %s: %s" % (name, note) if name != "yield" else "    # yield: int"

    def kind(self, code):
        """That of "const zkl_error *err"."""
        base, stars, _ = re.fullmatch(r"(?:const )?(\w+) ?((?:\*|const )*) ?(\w*)", code).groups()
        stars = stars.count("*")
        if base == "void" and not stars:
            return "None"
        if base in ("void", "char") or base in self.opaque and stars:
            kind, stars = "c_char_p" if base == "char" else "c_void_p", stars - 1
        else:
            kind = NUMBERS.get(base) or self.names.get(base) or ("c_int" if base in self.enums else None)
        if not kind:
            raise Later(code)
        return "POINTER(" * stars + kind + ")" * stars

    def text(self):
        table = ["", "", "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {", *sorted(self.functions), "}"]
        return HEAD + "\n".join(self.head + self.out + table) + "\n"


if __name__ == "__main__":
    print(Declarations(Path(sys.argv[1])).text(), end="")
