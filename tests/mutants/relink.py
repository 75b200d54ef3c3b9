"""A program that is built, with some of its sources changed.

A changed source is compiled alone, and its object goes before the archives that have the original. So that takes a
second, and nothing of the build is written. A program that loads libzkl gets the library's objects instead.
"""
import os
import shlex
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The archives that have a source, by its folder. Of other sources a program has objects of its own.
ARCHIVES = {"lib": {"core.a", "libzklcore.a"}, "recipes": {"core.a", "libzklcore.a", "librecipes.a"},
            "tests/sim": {"libsim.a"}, "tests/world": {"libworld.a"}}
SHARED, CORE = "lib/.libs/libzkl.so", "lib/.libs/libzklcore.a"
RECORDING = "tests/seen/core.a"
RECORDED = RECORDING + ".names"  # the names of public functions beneath those that record
# What a program's own objects are compiled with beside the flags of all.
FLAGS = {"tests/explore/words": ["-include", os.path.join(ROOT, "tests/explore/words.h")]}


class Build:
    def __init__(self, build):
        self.path, self.build = ROOT, os.path.abspath(build)
        shown = ("$(CC)", "$(DEFS) $(test_cppflags) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)",
                 "$(ZOOKEEPER_LIBS) $(GLIB_LIBS) $(LIBM) $(LIBS)")
        rule = f"include Makefile\nwords: ; {' '.join(f'$(info {words})' for words in shown)} @:\n"
        self.cc, self.flags, self.libraries = map(
            shlex.split, self.make(["-s", "-f", "-", "words"], rule).splitlines()[-len(shown):])
        self.commands, self.members, self.defined = {}, {}, {}

    def make(self, arguments, rule=None):
        return subprocess.run(["make", *arguments], cwd=self.build, input=rule or "", capture_output=True, text=True,
                              check=True, env=dict(os.environ, MAKEFLAGS="")).stdout

    def compile(self, file, text, to, optimize, flags=()):
        """The object of the source with that text; None if the compiler refuses it."""
        with open(to + ".c", "w") as source:
            source.write(f'#line 1 "{file}"\n{text}')
        beside = os.path.join(self.path, os.path.dirname(file))
        made = subprocess.run([*self.cc, "-iquote", beside, *self.flags, *flags, "-w", optimize, "-g0", "-c", to + ".c",
                               "-o", to + ".o"], cwd=self.build, capture_output=True)
        return to + ".o" if made.returncode == 0 else None

    def command(self, target):
        """The words that link the program."""
        if target not in self.commands:
            newer = ["tests/support/libsupport.la", "lib/libzklcore.la", "lib/libzkl.la"]
            shown = self.make(["-n", "V=1", *(word for n in newer for word in ("-W", n)), target])
            line = [s for s in shown.splitlines() if " --mode=link " in s and f" -o {target} " in s][-1]
            line = line.replace(" --mode=link ", " --dry-run --mode=link ")
            linked = subprocess.run(line, shell=True, cwd=self.build, capture_output=True, text=True, check=True).stdout
            prefix = "libtool: link: "
            shown = [s[len(prefix):] for s in linked.splitlines() if s.startswith(prefix) and " -o " in s]
            self.commands[target] = shlex.split(shown[-1])
        return self.commands[target]

    def link(self, target, objects, to, flags=()):
        """The program with these objects, source -> object, in the place of its own; None if it has no such source."""
        words = [*self.command(target), "-Wl,-S", *flags]
        at = words.index("-o") + 1
        program, words[at] = words[at], to
        loads = SHARED in words
        if loads:
            words[words.index(SHARED)] = CORE
            words += self.libraries
        any_is_its = False
        for file, made in objects.items():
            folder, name = os.path.split(file)
            name = name[:-len(".c")] + ".o"
            own = [i for i, word in enumerate(words) if os.path.dirname(word) == folder
                   and (os.path.basename(word) == name or word.endswith("-" + name))]
            if own:
                words[own[0]] = made
            elif self.is_archived(file, name, words) and (loads or self.takes(program, made)):
                words.insert(at + 1, self.recorded(made) if RECORDING in words and file.startswith("lib/") else made)
            else:
                continue
            any_is_its = True
        if not any_is_its:
            return None
        subprocess.run(words, cwd=self.build, check=True)
        return to

    def is_archived(self, file, name, words):
        names = ARCHIVES.get("lib" if file.startswith("lib/") else os.path.dirname(file), set())
        return any(member.endswith("-" + name) for word in words if os.path.basename(word) in names
                   for member in self.members_of(word))

    def takes(self, program, made):
        """Whether the program has a function of the object: of an archive it takes what it calls."""
        shown = subprocess.run(["nm", "-g", "--defined-only", made], capture_output=True, text=True, check=True).stdout
        if program not in self.defined:
            self.defined[program] = set(subprocess.run(["nm", "--defined-only", program], cwd=self.build, text=True,
                                                       capture_output=True, check=True).stdout.split())
        return any(word in self.defined[program] for word in shown.split()[2::3])

    def members_of(self, archive):
        if archive not in self.members:
            self.members[archive] = subprocess.run(["ar", "t", archive], cwd=self.build, capture_output=True, text=True,
                                                   check=True).stdout.split()
        return self.members[archive]

    def recorded(self, made):
        names, to = os.path.join(self.build, RECORDED), made[:-len(".o")] + ".recorded.o"
        if not os.path.exists(names):
            return made
        subprocess.run(["objcopy", f"--redefine-syms={names}", made, to], check=True)
        return to
