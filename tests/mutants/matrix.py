#!/usr/bin/env python3
"""The kill matrix: which programs, and which of their suites, see each of a number of small changes.

Draws COUNT changes of those that tests/mutants/mutate knows, from lib, recipes and tools/guard, by SEED. Each is
tried with every program that needs no server and whose coverage reaches the line, not only up to the first that
fails. What fails is run a second time: only what fails twice has seen the change, until three programs have hung.
Of unit, every case that fails is recorded; with --unit it alone is tried, twenty times as many changes an hour.
With --first a change is tried until one program sees it, in a build that is there: a hundred changes in ten minutes.

The work is in FOLDER: two builds, a copy of the tree for each job, and a result for each change. A run that was
ended, or whose time is over (status 75), continues with the same command. The last run writes the TABLE, in which
each change has its file and function, the line before and after it, and behind "=" what has seen it.

    matrix.py --seed 30                       draw 200 changes, write the table
    matrix.py --seed 30 --first _build/gcc    the same changes, each until a case of unit, or else a simulator, sees it
    matrix.py --again tests/mutants/matrix.txt --table /tmp/now
                                              try the changes of a table on this tree, as far as they remain
    matrix.py --report tests/mutants/matrix.txt
                                              shares killed by noun, and what each program and suite kills alone
"""
import argparse
import collections
import concurrent.futures
import filecmp
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import relink

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCES = ["lib", "recipes", "tools/guard"]
SURVIVED, UNREACHED, GONE = "survived", "not reached", "gone"

# Every program that needs no server, with arguments that keep it short where it plays as much as it is told. Each
# suite of unit is run by itself, so that a crash hides no other suite.
PROGRAMS = [
    ("unit", "tests/unit/unit", []),
    ("world", "tests/world/world", []),
    ("session", "tests/world/session", []),
    ("conform-world", "tests/world/conform-world", []),
    ("torture-system", "tests/torture/system", []),
    ("torture-store", "tests/torture/store", ["-x", "store.numbers", "store.permits", "store.in_long_queue"]),
    ("fuzz-replay", "tests/fuzz/replay", []),
    ("costs", "tests/sim/costs", []),
    ("observers", "tests/sim/observers", []),
    ("deposed", "tests/sim/deposed", []),
    ("barriers", "tests/sim/barriers", []),
    ("golden", "tests/sim/golden/golden", []),
    ("sim", "tests/sim/sim", ["--schedules", "50"]),
    ("sim-retain", "tests/sim/sim", ["--retain", "--schedules", "50"]),
    ("sim-share", "tests/sim/sim", ["--share", "--schedules", "50"]),
    ("sim-permits", "tests/sim/sim", ["--permits", "--schedules", "50"]),
    ("sim-leases", "tests/sim/sim", ["--leases", "--schedules", "50"]),
    ("sim-lacking", "tests/sim/sim", ["--lacking", "--schedules", "50"]),
    ("sim-members", "tests/sim/sim", ["--members", "--schedules", "50"]),
    ("sim-odd", "tests/sim/sim", ["--odd", "--schedules", "50"]),
    ("sim-late", "tests/sim/sim", ["--late", "--schedules", "50"]),
    ("sim-cool", "tests/sim/sim", ["--cool", "--schedules", "50"]),
    ("explore", "tests/explore/explore", ["--contenders", "2", "--faults", "1"]),
    ("replay", "tests/explore/replay", ["--max-states", "400"]),
    ("transactions", "tests/explore/transactions", []),
    ("candidacies", "tests/explore/candidacies", []),
    ("retains", "tests/explore/retains", []),
    ("multilocks", "tests/explore/multilocks", []),
    ("permits", "tests/explore/permits", []),
    ("numbers", "tests/explore/numbers", []),
    ("rounds", "tests/explore/rounds", []),
    ("members", "tests/explore/members", []),
    ("once", "tests/explore/once", []),
    ("shares", "tests/explore/shares", []),
    ("closings", "tests/explore/closings", []),
    ("additions", "tests/explore/additions", []),
    ("anchors", "tests/explore/anchors", []),
    ("reports", "tests/explore/reports", []),
    ("words", "tests/explore/words", []),
]
TEST_TIMEOUT = 20  # seconds without a step
FIRST_TIMEOUT = 10
LEAKS = "leaks"  # unit with the sanitizer that looks for what nobody frees
FAILED = re.compile(r"^FAIL(ED:)? ", re.M)
HANGS = 3  # a change that has hung so many programs is given a quarter of the time, and no second run

Change = collections.namedtuple("Change", "file function nth before after number line")


def is_source(file):
    return file.endswith(".c") and file.startswith(tuple(s + "/" for s in SOURCES))


def die(text):
    sys.exit(f"matrix.py: {text}")


def run(command, cwd, log):
    """A step that must succeed."""
    with open(log, "ab") as out:
        if subprocess.run(command, cwd=cwd, stdout=out, stderr=out, stdin=subprocess.DEVNULL).returncode:
            die(f"{' '.join(command[:3])} … fails: see {log}")


# ---- builds ----


class Tree:
    """A copy of the sources with a build, in which one job makes its changes."""

    def __init__(self, folder, name, configure):
        self.path = os.path.join(folder, name)
        self.build = os.path.join(self.path, "_build")
        self.log = self.path + ".log"
        self.configure = configure
        self.objects = {}

    def source(self, file):
        return os.path.join(self.path, file)

    def make(self, targets, **how):
        return subprocess.run(["make", "-s", "-j1", "SHELL=/bin/sh", *targets], cwd=self.build,
                              stdin=subprocess.DEVNULL, **how)

    def prepare(self, files, targets):
        if os.path.exists(self.path + ".built"):
            return
        shutil.rmtree(self.path, ignore_errors=True)
        for file in files:
            to = self.source(file)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, file), to, follow_symlinks=False)
        os.makedirs(self.build)
        run(["autoreconf", "-fi"], self.path, self.log)
        run(["../configure", "-q", *self.configure], self.build, self.log)
        run(["make", "-s", "-j1", "SHELL=/bin/sh", "tests/support/zkl-watchdog", *targets], self.build, self.log)
        open(self.path + ".built", "w").close()

    def copy(self, other):
        if not os.path.exists(self.path + ".built"):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.copytree(other.path, self.path, symlinks=True)
            open(self.path + ".built", "w").close()

    def restore(self, files, every=False):
        """A run that was ended may have left a change; every: what was written in ROOT since is taken, too."""
        for file in files:
            now, here = os.path.join(ROOT, file), self.source(file)
            if every and not os.path.exists(here):
                os.makedirs(os.path.dirname(here), exist_ok=True)
                shutil.copy(now, here)
            elif (every or is_source(file)) and not filecmp.cmp(now, here, shallow=False):
                shutil.copyfile(now, here)

    def object_files(self, file):
        """The objects of a source: of tools/guard each program has its own."""
        folder, name = os.path.split(file)
        stem = name[: -len(".c")]
        here = os.path.join(self.build, folder)
        return sorted(f for f in glob.glob(os.path.join(here, f"*{stem}.o"))
                      if os.path.basename(f) == stem + ".o" or os.path.basename(f).endswith("-" + stem + ".o"))

    def made(self, file):
        """What the compiler makes of the source now, nothing if no program has it; None if it refuses it."""
        objects = self.object_files(file)
        targets = [os.path.relpath(o, self.build) for o in objects]
        targets = [t[:-2] + ".lo" if os.path.exists(os.path.join(self.build, t[:-2] + ".lo")) else t for t in targets]
        if targets and self.make(targets, capture_output=True).returncode:
            return None
        return [hashlib.sha256(open(o, "rb").read()).hexdigest() for o in objects]


def environment(tree, scratch):
    # LD_BIND_NOW, as of hardened builds: looking a symbol up later saves vector registers on the stack, and they may
    # hold what session.credentials_are_wiped looks for.
    return dict(os.environ, LD_BIND_NOW="1", top_srcdir=tree.path, top_builddir=tree.build, G_SLICE="always-malloc",
                MALLOC_PERTURB_="165", ZKL_TEST_TIMEOUT=str(TEST_TIMEOUT), TMPDIR=scratch)


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def spent_by(group):
    """The processor time, in seconds, of the processes of a group that still run, and of those they have waited for."""
    ticks = 0
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            ticks += sum(int(t) for t in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def watch(program, limit, ends):
    """(status, seconds of the processor); status None: its time was over, 1: ends() was true before it ended."""
    until = time.monotonic() + limit
    while True:
        pid, status, usage = os.wait4(program.pid, os.WNOHANG)
        if pid:
            program.returncode = os.waitstatus_to_exitcode(status)
            return program.returncode, usage.ru_utime + usage.ru_stime
        over = time.monotonic() >= until
        if over or ends():
            return None if over else 1, spent_by(program.pid)
        time.sleep(0.05)


def execute(tree, scratch, entry, limit, extra=None, until=None, bounds=limits):
    """(status, output, seconds of the processor). A program that does not end by itself is ended with all that it has
    started, and so is one that has written what until, a pattern, matches: its status is 1."""
    _, target, arguments = entry
    os.makedirs(scratch, exist_ok=True)
    output = os.path.join(scratch, "output")

    def written():
        with open(output, errors="replace") as file:
            return file.read()

    with open(output, "wb") as out:
        program = subprocess.Popen(["tests/support/zkl-watchdog", os.path.join(tree.build, target), *arguments],
                                   cwd=tree.build, stdout=out,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=bounds, env=dict(environment(tree, scratch), **(extra or {})))
        status, seconds = watch(program, limit, lambda: until and until.search(written()))
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        program.wait()
    return status, written(), seconds


# ---- what is drawn ----


def tracked():
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [f for f in out.split("\0") if f and os.path.exists(os.path.join(ROOT, f))]


def all_changes(tree):
    """Every change that is known, in an order that depends on the sources alone."""
    mutate = os.path.join(tree.build, "tests/mutants/mutate")
    changes = []
    for file in sorted(filter(is_source, tracked())):
        seen = collections.Counter()
        out = subprocess.run([mutate, file], cwd=ROOT, capture_output=True, check=True).stdout.decode()
        for line in out.splitlines():
            number, name, function, before, after = line.split("\t")
            seen[function, before, after] += 1
            changes.append(Change(file, function, seen[function, before, after], before, after, int(number),
                                  int(name.split(":")[1])))
    return changes


def key(c):
    return f"{c.file} {c.function}" + (f" {c.nth}" if c.nth > 1 else "") + f"\n- {c.before}\n+ {c.after}"


# ---- coverage ----


def entries(tree):
    """The programs, unit as one for each suite."""
    for name, target, arguments in PROGRAMS:
        if not os.path.exists(os.path.join(tree.build, target)):
            continue
        if name != "unit":
            yield name, target, arguments
            continue
        out = subprocess.run([os.path.join(tree.build, target), "-l"], capture_output=True, check=True,
                             env=environment(tree, "/tmp")).stdout.decode()
        for suite in dict.fromkeys(line.split(".")[0] for line in out.split()):
            yield "unit " + suite, target, [suite]


def cover(folder, tree, entry):
    """Writes which lines of the sources the program reaches: file -> {line: reached}."""
    name = entry[0].replace(" ", ".")
    to = os.path.join(folder, "reach", name + ".json")
    if os.path.exists(to):
        return
    prefix = os.path.join(folder, "gcov", name)
    strip = str(tree.build.count("/"))
    status, output, _ = execute(tree, os.path.join(folder, "scratch", name), entry, 900,
                                {"GCOV_PREFIX": prefix, "GCOV_PREFIX_STRIP": strip})
    if status != 0:
        die(f"{entry[0]} fails without any change: {output[-2000:]}")
    data = []
    for place, _, files in os.walk(prefix):
        for file in files:
            inner = os.path.relpath(os.path.join(place, file), prefix)
            if file.endswith(".gcda") and inner.startswith(tuple(s + "/" for s in SOURCES)):
                os.symlink(os.path.join(tree.build, inner[:-5] + ".gcno"), os.path.join(prefix, inner[:-5] + ".gcno"))
                data.append(os.path.join(prefix, inner))
    reach = collections.defaultdict(dict)
    if data:
        out = subprocess.run(["gcov", "--json-format", "--stdout", *data], cwd=tree.build, capture_output=True).stdout
        for line in out.decode().splitlines():
            for source in json.loads(line)["files"]:
                file = os.path.relpath(os.path.realpath(os.path.join(tree.build, source["file"])), tree.path)
                if is_source(file):
                    for at in source["lines"]:
                        number = at["line_number"]
                        reach[file][number] = reach[file].get(number, False) or at["count"] > 0
    shutil.rmtree(prefix, ignore_errors=True)
    with open(to + ".new", "w") as out:
        json.dump(reach, out)
    os.rename(to + ".new", to)


def reached(lines, line):
    """A line without code of its own goes with the one before it."""
    before = [n for n in lines if n <= line]
    return bool(before) and lines[max(before)]


# ---- one change ----


def failed_of(output):
    """suite -> the cases that say of themselves that they failed"""
    suites = {}
    for line in output.splitlines():
        if line.startswith("FAIL ") and len(line.split()) > 1:
            suite, _, case = line.split()[1].rstrip(":").partition(".")
            suites.setdefault(suite, []).append(case)
    return suites


def seen_by(entry, output):
    """What has failed, as the table has it."""
    suites = failed_of(output)
    if suites and entry[0].startswith("unit"):
        return [f"unit {suite}.{','.join(cases)}" for suite, cases in suites.items()]
    return [entry[0] + " " + ",".join(suites) if suites else entry[0]]


def together(programs):
    """All suites of unit are one entry."""
    units = [p for p in programs if p[0].startswith("unit ")]
    whole = [("unit", units[0][1], [p[2][0] for p in units])] if units else []
    return whole + [p for p in programs if p not in units]


def tried_twice(run, entry, patience):
    """(status, output), of the second time if both fail; of unit, only what has failed is run again."""
    status, output = run(entry, patience)
    if status == 0 or patience < TEST_TIMEOUT:
        return status, output
    if entry[0] == "unit":
        entry = (*entry[:2], list(failed_of(output)) or entry[2])
    return run(entry, patience)


def try_change(job, change, originals, then):
    """What has seen it; with what saw it then, only the first, these before the others."""
    tree, scratch, programs, reach, times = job
    source = tree.source(change.file)
    with open(source) as file:
        original = file.read()
    mutate = os.path.join(tree.build, "tests/mutants/mutate")
    text = subprocess.run([mutate, source, str(change.number)], capture_output=True, check=True).stdout
    saw, hangs = [], 0
    try:
        if not originals[change.file]:
            return UNREACHED
        with open(source, "wb") as file:
            file.write(text)
        made = tree.made(change.file)
        if made is None or made == originals[change.file]:
            return None
        programs = [p for p in programs if reached(reach[p[0]].get(change.file, {}), change.line)]
        if not programs:
            return UNREACHED
        if tree.make(sorted({p[1] for p in programs}), capture_output=True).returncode:
            return None
        if then:
            before = [w.split(".")[0] if w.startswith("unit ") else w.split()[0] for w in then.split("; ")]
            programs.sort(key=lambda p: (p[0] not in before, times[p[0]]))
        to_run = collections.deque(programs if then else together(programs))

        def attempt(entry, patience):
            names = ["unit " + suite for suite in entry[2]] if entry[0] == "unit" else [entry[0]]
            limit = sum(times[n] for n in names) * 10 + 2 * patience
            return execute(tree, scratch, entry, limit, {"ZKL_TEST_TIMEOUT": str(patience)})[:2]

        while to_run and not (then and saw):
            entry = to_run.popleft()
            patience = TEST_TIMEOUT if hangs < HANGS else TEST_TIMEOUT // 4
            begin = time.monotonic()
            status, output = tried_twice(attempt, entry, patience)
            hangs += status != 0 and time.monotonic() - begin > patience
            if entry[0] == "unit" and status not in (0, 1):  # a crash hides what comes behind it
                to_run.extendleft(p for p in programs if p[0].startswith("unit "))
            elif status != 0:
                saw.extend(seen_by(entry, output))
    finally:
        with open(source, "w") as file:
            file.write(original)
    return "; ".join(saw) or SURVIVED


class First:
    """Tries changes until a program of a build sees them: unit, the suites of the changed file before the others; the
    simulators; and unit once more, for what is left in memory."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        self.originals = {}
        os.makedirs(scratch, exist_ok=True)
        _, unit, _ = PROGRAMS[0]
        listed = subprocess.run([os.path.join(build.build, unit), "-l"], capture_output=True, check=True, text=True,
                                env=environment(build, scratch)).stdout
        self.suites = list(dict.fromkeys(line.split(".")[0] for line in listed.split()))

    def entries(self, file):
        stem = os.path.basename(file)[:-len(".c")]
        own = [s for s in self.suites if s == stem or s.startswith(stem + "_")]
        units = ([own] if own else []) + [["-x", *own]]
        return [(*PROGRAMS[0][:2], arguments) for arguments in units] + [
            *(p for p in PROGRAMS if p[1].startswith("tests/sim/")), (LEAKS, PROGRAMS[0][1], [])]

    def compiled(self, file, text):
        made = self.build.compile(file, text, os.path.join(self.scratch, "changed"), "-O1")
        if not made:
            return None
        with open(made, "rb") as code:
            return code.read()

    def sees(self, entry):
        extra = {"ZKL_TEST_TIMEOUT": str(FIRST_TIMEOUT),
                 "LSAN_OPTIONS": f"suppressions={ROOT}/tests/support/lsan.supp:print_suppressions=0"}

        def run(arguments):  # a sanitizer needs all addresses
            return execute(self.build, self.scratch, (*entry[:2], arguments), 1200, extra, FAILED,
                           None if entry[0] == LEAKS else limits)[:2]

        status, output = run(entry[2])
        if status == 0:
            return None
        cases = [f"{suite}.{case}" for suite, its in failed_of(output).items() for case in its]
        if entry[0] == "unit" and cases and run(cases)[0] == 0:
            status, output = run(entry[2])
        return "; ".join(seen_by(entry, output)) if status != 0 else None

    def try_change(self, change):
        """What has seen it; None if it is none to the compiler."""
        with open(os.path.join(ROOT, change.file)) as file:
            original = file.read()
        if change.file not in self.originals:
            self.originals[change.file] = self.compiled(change.file, original) or die(f"{change.file} cannot be compiled")
        mutate = os.path.join(self.build.build, "tests/mutants/mutate")
        text = subprocess.run([mutate, os.path.join(ROOT, change.file), str(change.number)], capture_output=True,
                              check=True, text=True).stdout
        if self.compiled(change.file, text) in (None, self.originals[change.file]):
            return None
        programs = {}
        for name, target, arguments in self.entries(change.file):
            flags = ("-fsanitize=leak",) if name == LEAKS else ()
            if (target, flags) not in programs:
                programs[target, flags] = self.build.link(
                    target, {change.file: os.path.join(self.scratch, "changed.o")},
                    os.path.join(self.scratch, os.path.basename(target)), flags)
            saw = programs[target, flags] and self.sees((name, programs[target, flags], arguments))
            if saw:
                return saw
        return SURVIVED if any(programs.values()) else UNREACHED


# ---- tables ----


def read_table(path):
    """[(key, what has seen it)]"""
    rows, place, before, after = [], None, None, None
    with open(path) as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("- "):
                before = line
            elif line.startswith("+ "):
                after = line
            elif line.startswith("= "):
                rows.append((f"{place}\n{before}\n{after}", line[2:]))
            elif line and not line.startswith("#"):
                place = line
    return rows


def noun(k):
    parts = k.split(" ")[0].split("/")
    return parts[0] if parts[0] == "recipes" else "/".join(parts[:2])


def judged(saw):
    return saw not in (UNREACHED, GONE)


def report(rows):
    nouns = collections.defaultdict(collections.Counter)
    kills, alone = collections.Counter(), collections.Counter()
    cases, cases_alone = collections.Counter(), collections.Counter()
    suites, suites_alone = collections.Counter(), collections.Counter()
    for k, saw in rows:
        nouns[noun(k)]["not reached" if saw == UNREACHED else "gone" if saw == GONE else
                       "survived" if saw == SURVIVED else "killed"] += 1
        if judged(saw) and saw != SURVIVED:
            who = [w.split()[0] for w in saw.split("; ")]
            for program in set(who):
                kills[program] += 1
                alone[program] += len(set(who)) == 1
            units = [w for w in saw.split("; ") if w.startswith("unit ")]
            for unit in units:
                suite, _, its = unit[5:].partition(".")
                suites[suite] += 1
                suites_alone[suite] += len(saw.split("; ")) == 1
                for case in its.split(",") if its else []:
                    cases[f"{suite}.{case}"] += 1
                    cases_alone[f"{suite}.{case}"] += len(saw.split("; ")) == 1 and "," not in its
    total = collections.Counter()
    for name in sorted(nouns):
        n = nouns[name]
        total.update(n)
        print(f"{name:16} {n['killed']:4} killed of {n['killed'] + n['survived']:4}, {n['not reached']:3} not reached"
              + (f", {n['gone']} gone" if n["gone"] else ""))
    print(f"{'all':16} {total['killed']:4} killed of {total['killed'] + total['survived']:4}, "
          f"{total['not reached']:3} not reached" + (f", {total['gone']} gone" if total["gone"] else ""))
    print("\nprogram: kills, kills that no other program has")
    for program, n in kills.most_common():
        print(f"  {program:16} {n:4} {alone[program]:4}")
    print("\nsuites of unit: kills, kills that nothing else has")
    for suite, n in suites.most_common():
        print(f"  {suite:28} {n:4} {suites_alone[suite]:4}")
    print("\ncases of unit that alone kill something: kills, kills that nothing else has")
    for case, n in cases.most_common():
        if cases_alone[case]:
            print(f"  {case:52} {n:4} {cases_alone[case]:4}")


def compare(then, now):
    """What was killed then, is still there, and survives now. True if there is nothing."""
    now = dict(now)
    lost = [k for k, saw in then if judged(saw) and saw != SURVIVED and now.get(k) in (SURVIVED, UNREACHED)]
    for k in lost:
        print(f"killed then, and not now: {k}")
    remaining = [k for k, saw in then if now.get(k, GONE) != GONE]
    print(f"{len(remaining)} of {len(then)} changes remain, {len(lost)} of them were killed and are not now")
    return not lost


# ---- all of them ----


class Pool:
    """The changes to try, one after the other, until enough of them are changes to the compiler, too."""

    def __init__(self, folder, changes, count, until):
        self.folder, self.changes, self.count, self.until = folder, changes, count, until
        self.lock = threading.Lock()
        self.next, self.valid = 0, 0
        self.results = {}

    def path(self, i):
        return os.path.join(self.folder, "results", str(i))

    def take(self):
        with self.lock:
            while self.next < len(self.changes) and self.valid < self.count:
                i = self.next
                self.next += 1
                if os.path.exists(self.path(i)):
                    with open(self.path(i)) as file:
                        self.put(i, json.load(file))
                    continue
                if time.monotonic() > self.until:
                    return None
                self.valid += 1  # for the time being
                return i
            return None

    def put(self, i, saw):
        self.results[i] = saw
        self.valid += saw is not None

    def done(self, i, saw):
        with self.lock:
            with open(self.path(i) + ".new", "w") as file:
                json.dump(saw, file)
            os.rename(self.path(i) + ".new", self.path(i))
            self.valid -= 1
            self.put(i, saw)
            c = self.changes[i]
            print(f"{self.valid}/{self.count} {c.file}:{c.line} {c.function}: {saw or 'no change'}", flush=True)


def prepare(folder, jobs):
    for name in ("reach", "gcov", "scratch", "results"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    files = tracked()
    targets = sorted({t for _, t, _ in PROGRAMS if os.path.exists(os.path.join(ROOT, os.path.dirname(t)))})
    o1 = ["CC=gcc", "--disable-shared", "CFLAGS=-O1"]
    trees = [Tree(folder, f"tree-{n}", o1) for n in range(jobs)]
    coverage = Tree(folder, "coverage", ["CC=gcc", "--disable-shared", "--enable-coverage", "--disable-dependency-tracking"])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        made = [pool.submit(t.prepare, files, targets + more) for t, more in ((trees[0], ["tests/mutants/mutate"]), (coverage, []))]
        for m in made:
            m.result()
        for tree in trees[1:]:
            tree.copy(trees[0])
        for tree in trees:
            tree.restore(files)
        programs = list(entries(coverage))
        for c in [pool.submit(cover, folder, coverage, e) for e in programs]:
            c.result()
    reach = {}
    for entry in programs:
        with open(os.path.join(folder, "reach", entry[0].replace(" ", ".") + ".json")) as file:
            reach[entry[0]] = {f: {int(n): r for n, r in lines.items()} for f, lines in json.load(file).items()}
    return trees, programs, reach


def time_originals(folder, tree, programs):
    """The tree without a change must pass; its times say when one with a change hangs."""
    path = os.path.join(folder, "times.json")
    if not os.path.exists(path):
        times = {}
        for entry in programs:
            begin = time.monotonic()
            status, output, _ = execute(tree, os.path.join(folder, "scratch", "original"), entry, 900)
            if status != 0:
                die(f"{entry[0]} fails without any change: {output[-2000:]}")
            times[entry[0]] = time.monotonic() - begin
        with open(path, "w") as file:
            json.dump(times, file)
    with open(path) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", metavar="TABLE", help="try the changes of that table, each until one sees it, first "
                        "the programs that saw it then")
    parser.add_argument("--unit", action="store_true", help="try unit alone")
    parser.add_argument("--first", metavar="BUILD", help="try each change, with this build, until one program sees it")
    parser.add_argument("--report", metavar="TABLE", help="only show what a table says")
    parser.add_argument("--table", default="_build/matrix.txt")
    parser.add_argument("--folder", default="_build/matrix")
    parser.add_argument("--jobs", type=int, default=2 * os.cpu_count(), help="(most programs wait half of the time)")
    parser.add_argument("--minutes", type=float, default=90)
    args = parser.parse_args()
    if args.report:
        return report(read_table(args.report))
    if args.unit:
        del PROGRAMS[1:]
    until = time.monotonic() + args.minutes * 60
    folder = os.path.abspath(args.folder)
    if args.first:
        os.makedirs(os.path.join(folder, "results"), exist_ok=True)
        trees = [relink.Build(args.first)]
    else:
        trees, programs, reach = prepare(folder, args.jobs)
        times = time_originals(folder, trees[0], programs)
    known = all_changes(trees[0])
    then = read_table(args.again) if args.again else None
    if then:
        by_key = {key(c): c for c in known}
        changes = [by_key[k] for k, _ in then if k in by_key]
        count = len(changes)
    else:
        changes, count = list(known), args.count
        random.Random(args.seed).shuffle(changes)
    drawn = hashlib.sha256("\n".join(key(c) for c in changes).encode()).hexdigest()
    mark = os.path.join(folder, "drawn")
    if os.path.exists(mark) and open(mark).read() != drawn:
        die(f"{folder} has the results of other changes: name another --folder")
    with open(mark, "w") as file:
        file.write(drawn)
    saw_then = dict(then or [])
    pool = Pool(folder, changes, count, until)

    def work_first(build):
        job = First(build, os.path.join(folder, "scratch"))
        while (i := pool.take()) is not None:
            pool.done(i, job.try_change(changes[i]))

    def work(tree):
        scratch = os.path.join(folder, "scratch", os.path.basename(tree.path))
        job = (tree, scratch, programs, reach, times)
        originals = {}
        while (i := pool.take()) is not None:
            file = changes[i].file
            if file not in originals:
                originals[file] = tree.made(file)
            pool.done(i, try_change(job, changes[i], originals, saw_then.get(key(changes[i]))))

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as workers:
        for w in [workers.submit(work_first if args.first else work, t) for t in trees]:
            w.result()
    valid = [i for i in sorted(pool.results) if pool.results[i] is not None][:count]
    rows = [(key(changes[i]), pool.results[i]) for i in valid]
    if then:
        known_keys = dict(rows)
        rows = [(k, known_keys.get(k, GONE)) for k, _ in then]
    with open(args.table, "w") as out:
        out.write(f"# {len(rows)} changes of {len(known)}, seed {args.seed}; see matrix.py.\n" if not args.first else
                  f"# {len(rows)} changes of {len(known)}, seed {args.seed}, each until one saw it; see matrix.py.\n")
        for k, saw in rows:
            out.write(f"\n{k}\n= {saw}\n")
    report(rows)
    if len(valid) < count and pool.next < len(changes):
        print(f"{len(valid)} of {count} tried: continue with the same command")
        return 75
    return 0 if not then or compare(then, rows) else 1


if __name__ == "__main__":
    sys.exit(main())
