"""A program that is built, with some of its sources changed.

A changed source is compiled alone, and its object goes before the archives that have the original. So that takes a
second, and nothing of the build is written.
"""
import os
import shlex
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The archives that have a source, by its folder. Of other sources a program has objects of its own.
ARCHIVES = {"lib": {"core.a"}, "recipes": {"core.a", "librecipes.a"}, "tests/sim": {"libsim.a"},
            "tests/world": {"libworld.a"}}
RECORDED = "tests/seen/core.a.names"  # the names of public functions beneath those that record


class Build:
    def __init__(self, build):
        self.path, self.build = ROOT, os.path.abspath(build)
        rule = "include Makefile\nwords: ; $(info $(CC)) $(info $(DEFS) $(test_cppflags) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)) @:\n"
        cc, flags = self.make(["-s", "-f", "-", "words"], rule).splitlines()[-2:]
        self.cc, self.flags = shlex.split(cc), shlex.split(flags)
        self.commands, self.members = {}, {}

    def make(self, arguments, rule=None):
        return subprocess.run(["make", *arguments], cwd=self.build, input=rule or "", capture_output=True, text=True,
                              check=True, env=dict(os.environ, MAKEFLAGS="")).stdout

    def compile(self, file, text, to, optimize):
        """The object of the source with that text; None if the compiler refuses it."""
        with open(to + ".c", "w") as source:
            source.write(f'#line 1 "{file}"\n{text}')
        beside = os.path.join(self.path, os.path.dirname(file))
        made = subprocess.run([*self.cc, "-iquote", beside, *self.flags, "-w", optimize, "-g0", "-c", to + ".c", "-o",
                               to + ".o"], cwd=self.build, capture_output=True)
        return to + ".o" if made.returncode == 0 else None

    def command(self, target):
        """The words that link the program."""
        if target not in self.commands:
            shown = self.make(["-n", "V=1", "-W", "tests/support/libsupport.la", target])
            line = [s for s in shown.splitlines() if " --mode=link " in s and f" -o {target} " in s][-1]
            line = line.replace(" --mode=link ", " --dry-run --mode=link ")
            linked = subprocess.run(line, shell=True, cwd=self.build, capture_output=True, text=True, check=True).stdout
            prefix = "libtool: link: "
            self.commands[target] = shlex.split([s for s in linked.splitlines() if s.startswith(prefix)][-1][len(prefix):])
        return self.commands[target]

    def link(self, target, objects, to, flags=()):
        """The program with these objects, source -> object, in the place of its own; None if it has no such source."""
        words = [*self.command(target), "-Wl,-S", *flags]
        at = words.index("-o") + 1
        words[at] = to
        for file, made in objects.items():
            folder, name = os.path.split(file)
            name = name[:-len(".c")] + ".o"
            own = [i for i, word in enumerate(words) if os.path.dirname(word) == folder
                   and (os.path.basename(word) == name or word.endswith("-" + name))]
            if own:
                words[own[0]] = made
            elif self.is_archived(file, name, words):
                words.insert(at + 1, self.recorded(made) if file.startswith("lib/") else made)
            else:
                return None
        subprocess.run(words, cwd=self.build, check=True)
        return to

    def is_archived(self, file, name, words):
        names = ARCHIVES.get("lib" if file.startswith("lib/") else os.path.dirname(file), set())
        return any(member.endswith("-" + name) for word in words if os.path.basename(word) in names
                   for member in self.members_of(word))

    def members_of(self, archive):
        if archive not in self.members:
            self.members[archive] = subprocess.run(["ar", "t", archive], cwd=self.build, capture_output=True, text=True,
                                                   check=True).stdout.split()
        return self.members[archive]

    def recorded(self, made):
        names = os.path.join(self.build, RECORDED)
        if os.path.exists(names):
            subprocess.run(["objcopy", f"--redefine-syms={names}", made], check=True)
        return made
