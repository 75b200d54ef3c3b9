#!/usr/bin/env python3
"""Which world sees which design fault, how soon, and at what cost.

Plants the faults of faults.txt, one at a time: compiles the sources with the fault, links the programs of BUILD that
have them (relink.py), and runs each world's programs until one of them fails: those of the matrix, of some a part, the
quick ones first, and no more of a world when it has taken its share of the processor. A fault may name the programs of
a world that are to see it. What fails in unit must do so again. All times are the processor's. A program that needs
servers is taken to pass without a fault, and what else its script runs to be built.

The work is in FOLDER. A run that was ended continues with the same command; a fault whose text has changed, and
--again PATTERN, are tried anew. What was not tried stays as PAGE has it.

    faults.py                              all faults in all worlds that need no server; the table to _build/worlds.md
    faults.py --worlds unit,live --only '^[23] '
                                           these, of the faults whose line matches
    faults.py --worlds live,cli --named    the faults that name a program of these worlds, in those programs
    faults.py --report                     only the table of what was tried
    faults.py --stale [--build BUILD]      says which schedules that faults.txt names do not see their fault
    faults.py --find PATTERN [--schedules N]
                                           a schedule that sees the faults whose line matches, of N of each sort
    faults.py --check [ROOT]               says which faults do not fit the tree, and which functions are gone that
                                           the tables of mutants and tests/FOUND.md name
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import resource
import statistics
import sys
import tempfile
import threading

import matrix
import relink

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = {
    "1": "one holder", "2": "granted only when proved", "3": "a deadline, not a hope", "4": "a loss is told, once, in time",
    "5": "watch only the predecessor", "6": "no orphan", "7": "order by the number", "8": "only the owner unlocks",
    "9": "exactly one completion", "10": "callable anywhere", "11": "bad input"}

PAGE = """# Which world sees which design fault

`./dev faults` writes this page from `tests/mutants/faults.txt`. A cell has the first case, program or seed that failed
in that world, and the processor time until then. A program's name alone has mostly ended by an assertion. "no" was not
seen within the time of the world's short form. "-": no program of that world has the code. An empty cell was not tried.
The rules are: {rules}; or a noun has them.

"""

PURE = ["unit", "golden", "explore", "sim", "torture", "world"]
# What needs servers: each world by what of it is short, for the faults that name nothing there. They are tried when
# they are asked for.
SERVED = [
    ("live", "tests/live/live", ["mutex", "mutex_end", "election", "fault_connection.cut_while_*", "fault_reply"]),
    ("interop", "tests/interop/sees.sh", []),
    ("cli", "tests/cli/lock.sh", []),
    ("cli", "tests/cli/loss.sh", []),
    ("soak", "tests/live/faults/campaign", ["--recipe", "mixed", "--seed", "1", "--nodes", "3", "--seconds", "60"]),
]
# What the check runs, where the matrix has a shorter form that sees less.
WHOLE = [("explore-all", "tests/explore/explore", [])]
WORLDS = PURE + ["live", "interop", "cli", "soak"]
SIM = "tests/sim/sim"
# What of a program of the matrix is short, and of each sort.
SHORT = {
    "torture-store": [f"store.{scene}" for scene in (
        "alone", "another_layout_adopted", "barriers", "both_half", "counters", "deletes_refused", "in_one_session",
        "left_unsettled", "limits", "long_hold", "members_of_a_kept_session", "middle_leaves", "node_deleted",
        "numbers_reset", "once_in_a_kept_session", "retained", "terms", "time_over", "transactions")],
    "torture-system": ["fake", "client.lock_unlock"],
}
# The programs that the scripts of a folder try, and the variables that name them to it.
TRIED = {"cli": {"ZKL": "tools/zkl"}, "interop": {"ZKL": "tools/zkl", "ZKL_PEER": "tests/interop/zkl-peer"}}
SAW_MOST = 80  # letters

Place = collections.namedtuple("Place", "file function before after")
Fault = collections.namedtuple("Fault", "rule text places schedules programs id")


class Misfit(Exception):
    pass


# ---- the faults ----


def read_faults(path):
    faults, rule, text, places, schedules, programs = [], None, None, [], [], []

    def end():
        if places:
            made = [Place(*p[:2], tuple(p[2]), tuple(p[3])) for p in places]
            named = hashlib.sha256(repr(made).encode()).hexdigest()[:12]
            faults.append(Fault(rule, text, made, schedules, programs, named))

    with open(path) as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("* "):
                end()
                rule, text = line[2:].split(" ", 1)
                places, schedules, programs = [], [], []
            elif line.startswith("@ "):
                schedules.append(line[2:].split())
            elif line.startswith("= "):
                world, target, *arguments = line[2:].split()
                programs.append((world, target, arguments))
            elif line[:2] in ("- ", "+ "):
                places[-1]["-+".index(line[0]) + 2].append(line[2:].strip())
            elif line and not line.startswith("#"):
                places.append([*line.split(), [], []])
    end()
    return faults


def span(lines, function):
    """Where the function or table begins and ends."""
    if function == "-":
        return 0, len(lines)
    begins = re.compile(rf"[A-Za-z}}].*\b{re.escape(function)}\b *[(\[]")
    for i, line in enumerate(lines):
        if begins.match(line) and not line.endswith(";"):
            ends = (k for k in range(i + 1, len(lines)) if lines[k].startswith("}"))
            return i, next(ends, len(lines))
    raise Misfit(f"there is no {function}")


def change(text, place):
    """The text with the place changed. Its lines keep their numbers, so that assertions stay what they were."""
    lines = text.split("\n")
    begin, end = span(lines, place.function)
    n = len(place.before)
    found = [i for i in range(begin, end - n + 1) if tuple(s.strip() for s in lines[i:i + n]) == place.before]
    if len(found) != 1:
        raise Misfit(f"{place.function} has these lines {len(found)} times: {place.before[0]}")
    after = [" ".join(place.after)] + [""] * (n - 1)
    return "\n".join(lines[:found[0]] + after + lines[found[0] + n:])


def plant(root, fault):
    """file -> its text with the fault"""
    texts = {}
    for place in fault.places:
        if place.file not in texts:
            with open(os.path.join(root, place.file)) as file:
                texts[place.file] = file.read()
        texts[place.file] = change(texts[place.file], place)
    return texts


# ---- what no longer fits ----


def named_by_found(root):
    """Every (file, function) that tests/FOUND.md names."""
    with open(os.path.join(root, "tests/FOUND.md")) as lines:
        for line in lines:
            rules = line.split(" | ")[1] if line.count(" | ") == 2 else ""
            for file, functions in re.findall(r"`([a-z_/]+\.(?:c|h|py))`((?:(?:: |, )`[A-Za-z_.]+`)+)", rules):
                for function in re.findall(r"`([A-Za-z_.]+)`", functions):
                    yield file, function


def misfits(root):
    """What the tables of mutants and tests/FOUND.md name, and the tree no longer has."""
    texts = {}

    def text(file):
        path = os.path.join(root, file)
        if file not in texts:
            with open(path if os.path.exists(path) else os.devnull) as opened:
                texts[file] = opened.read()
        return texts[file]

    for fault in read_faults(os.path.join(root, "tests/mutants/faults.txt")):
        for place in fault.places:
            try:
                change(text(place.file), place)
            except Misfit as e:
                yield f"tests/mutants/faults.txt: {fault.text}: {place.file}: {e}"
    for table in ("tests/mutants/matrix.txt", "tests/mutants/equivalent.txt"):
        for key, _ in matrix.read_table(os.path.join(root, table)):
            place, before, _ = key.split("\n")
            file, function = place.split()[:2]
            try:
                lines = text(file).split("\n")
                begin, end = span(lines, function)
                if before[2:] not in " ".join(" ".join(lines[begin:end]).split()):
                    raise Misfit(f"{function} has no {before[2:]}")
            except Misfit as e:
                yield f"{table}: {file}: {e}"
    for file, name in named_by_found(root):
        if not re.search(rf"\b{re.escape(name.split('.')[-1])}\b", text(file)):
            yield f"tests/FOUND.md: {file} has no {name}"


# ---- the simulator's schedules ----


def simulator(build, fault, scratch):
    """The simulator with the fault, linked in scratch."""
    objects = {}
    for file, text in plant(build.path, fault).items():
        objects[file] = build.compile(file, text, os.path.join(scratch, os.path.basename(file)), "-O0")
        if not objects[file]:
            matrix.die(f"{fault.text}: {file} cannot be compiled")
    return build.link(SIM, objects, os.path.join(scratch, "sim"))


def play(build, program, scratch, arguments):
    """(status, output)"""
    return matrix.execute(build, scratch, ("sim", program, arguments), 1200)[:2]


def stale(build, faults, scratch):
    """Which schedules see nothing of the fault for which they are kept."""
    for fault in faults:
        program = simulator(build, fault, scratch) if fault.schedules else None
        for arguments in fault.schedules:
            if play(build, program, scratch, arguments)[0] != 1:
                yield (f"tests/mutants/faults.txt: {fault.rule} {fault.text}: sim {' '.join(arguments)} does not see it; "
                       f'tests/mutants/faults.py --find "{fault.text}" looks for another schedule')


def find(build, fault, scratch, schedules):
    """The arguments of a schedule that sees the fault: of the sorts that did, and then of the others."""
    program = simulator(build, fault, scratch)
    sorts = [[a for a in arguments[:-1] if a != "--seed"] for arguments in fault.schedules]
    sorts += [arguments[:-2] for _, target, arguments in matrix.PROGRAMS if target == SIM]
    for options in dict.fromkeys(map(tuple, sorts)):
        _, output = play(build, program, scratch, [*options, "--schedules", str(schedules)])
        again = re.search(rf"^Again: {SIM} (.*)$", output, re.M)
        if again:
            return again[1]
    return None


# ---- one fault ----


def world_of(entry):
    folder = entry[1].split("/")[1:-1]
    return folder[-1] if folder[-1] in WORLDS else folder[0]


def programs(worlds):
    """world -> its programs"""
    of = collections.defaultdict(list)
    for name, target, arguments in matrix.PROGRAMS + WHOLE:
        entry = name, target, SHORT.get(name, arguments)
        if world_of(entry) in worlds:
            of[world_of(entry)].append(entry)
    for world, target, arguments in SERVED:
        if world in worlds:
            of[world].append((os.path.basename(target), target, arguments))
    return of


def tried_by(target):
    """The programs that are tried: variable -> program, if a script tries them."""
    return TRIED[target.split("/")[1]] if target.endswith(".sh") else {None: target}


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def case_of(name, output):
    """The first case that has failed, or else the program's name."""
    cases = [f"{suite}.{its[0]}" for suite, its in matrix.failed_of(output).items() if suite]
    seed = re.search(r"^seed (\d+): ", output, re.M)
    line = re.search(r"^FAILED: (.*)$", output, re.M)
    if line:
        what = re.sub(r"/\S*/tmp\.\w+", "...", line[1])
        return f"{name}: {what}".replace("|", "/").replace("`", "'")[:SAW_MOST]
    return f"seed {seed[1]}" if seed else cases[0] if cases else name


class Job:
    """Plants one fault after the other. Objects and programs with it are in scratch."""

    def __init__(self, build, scratch, of, times):
        self.build, self.scratch, self.of, self.times = build, scratch, of, times
        self.originals, self.texts, self.made, self.linked = {}, {}, {}, {}
        os.makedirs(scratch, exist_ok=True)

    def compiled(self, file, text, flags):
        """(the object, what is in it); None if the compiler refuses it"""
        to = os.path.join(self.scratch, file.replace("/", "-")[:-len(".c")])
        made = self.build.compile(file, text, to, "-O1", flags)
        if not made:
            return None, None
        with open(made, "rb") as code:
            return made, code.read()

    def objects(self, flags=()):
        """source -> its object with the fault; {}: the compiler refuses one, or makes the same of all"""
        if flags in self.made:
            return self.made[flags]
        objects, changed = {}, False
        for file, text in self.texts.items():
            if (file, flags) not in self.originals:
                with open(os.path.join(self.build.path, file)) as original:
                    self.originals[file, flags] = self.compiled(file, original.read(), flags)[1]
            objects[file], code = self.compiled(file, text, flags)
            changed |= code != self.originals[file, flags]
        self.made[flags] = objects if changed and all(objects.values()) else {}
        return self.made[flags]

    def program(self, target):
        """The program with the fault; None if it has none of the changed code."""
        if target not in self.linked:
            objects = self.objects(tuple(relink.FLAGS.get(target, ())))
            to = os.path.join(self.scratch, os.path.basename(target))
            self.linked[target] = self.build.link(target, objects, to) if objects else None
        return self.linked[target]

    def planted(self, targets):
        """Those programs with the fault, or as they are where they have none of the changed code; {}: none has any."""
        made = {variable: self.program(target) for variable, target in targets.items()}
        own = {variable: os.path.join(self.build.build, target) for variable, target in targets.items()}
        return {variable: made[variable] or own[variable] for variable in own} if any(made.values()) else {}

    def run(self, world, entry, tried):
        """(status, output, seconds). A script is given its arguments in the environment, NAME=VALUE."""
        name, target, arguments = entry
        extra = {} if world in PURE else {"ZKL_REQUIRE_SERVER": "1", "ZKL_TEST_TIMEOUT": "60"}
        program, until = tried.get(None, "/bin/bash"), matrix.FAILED
        if None not in tried:
            extra.update(tried, ZKL_FIRST_FAILURE="1", ZKL_PRETENDED=os.path.join(self.scratch, "pretended"))
            extra.update(word.split("=", 1) for word in arguments)
            arguments, until = [os.path.join(self.build.path, target)], None
        limit = self.times.get(name, 60) * 20 + 2 * matrix.TEST_TIMEOUT
        bounds = matrix.limits if world in PURE else no_core
        return matrix.execute(self.build, self.scratch, (name, program, arguments), limit, extra, until, bounds)

    def sees(self, world, entry, tried):
        """(what has failed, "": nothing; seconds)"""
        status, output, seconds = self.run(world, entry, tried)
        if status == 0:
            return "", seconds
        saw = case_of(entry[0], output)
        if entry[0] == "unit" and "." in saw:
            again, _, more = self.run(world, (*entry[:2], [saw]), tried)
            return (saw if again != 0 else ""), seconds + more
        return saw, seconds

    def try_world(self, fault, world, most):
        saw, spent, any_has = "", 0.0, False
        named = [(os.path.basename(target), target, arguments) for w, target, arguments in fault.programs if w == world]
        for entry in named or sorted(self.of[world], key=lambda e: self.times.get(e[0], 60)):
            tried = {} if saw or spent > most else self.planted(tried_by(entry[1]))
            if tried:
                saw, seconds = self.sees(world, entry, tried)
                spent, any_has = spent + seconds, True
        return {"saw": saw, "soon": round(spent, 2), "spent": round(spent, 2)} if any_has else {"has": False}

    def try_fault(self, fault, worlds, results, most):
        """Adds to results, world -> what came of it. True if a compiler sees a change."""
        self.texts, self.made, self.linked = plant(self.build.path, fault), {}, {}
        if not self.objects():
            return False
        for world in worlds:
            if world not in results:
                results[world] = self.try_world(fault, world, most)
        return True


# ---- the table ----


def was_tried(result):
    return result is not None and result.get("has", True)


def cell(result):
    if not was_tried(result):
        return "" if result is None else "-"
    return f"`{result['saw']}` {result['soon']:.1f} s" if result["saw"] else f"no, {result['spent']:.0f} s"


def read_cell(text):
    seen = re.fullmatch(r"`(.*)` ([0-9.]+) s", text)
    if seen:
        return {"saw": seen[1], "soon": float(seen[2]), "spent": float(seen[2])}
    return {"has": False} if text == "-" else {"saw": "", "soon": 0, "spent": float(text[len("no, "):-len(" s")])}


def read_page(path):
    """(rule, fault) -> world -> what came of it, as a page has it"""
    rows, worlds = {}, None
    with open(path) as lines:
        for line in lines:
            cells = line.rstrip("\n")[2:-2].split(" | ")
            if line.startswith("| rule |"):
                worlds = cells[2:]
            elif worlds and not line.startswith("|"):
                break
            elif worlds and cells[0] != "---":
                rows[tuple(cells[:2])] = {w: read_cell(c) for w, c in zip(worlds, cells[2:]) if c}
    return rows


def write_table(path, faults, tried):
    worlds = [w for w in WORLDS if any(w in tried.get(f.id, {}) for f in faults)]
    with open(path, "w") as out:
        out.write(PAGE.format(rules="; ".join(f"{n} {name}" for n, name in RULES.items())))
        out.write("| rule | the fault | " + " | ".join(worlds) + " |\n|" + " --- |" * (len(worlds) + 2) + "\n")
        for f in faults:
            cells = [cell(tried.get(f.id, {}).get(w)) for w in worlds]
            out.write(f"| {f.rule} | {f.text} | " + " | ".join(cells) + " |\n")
        out.write("\n| world | tried | seen | by it alone of all that were tried | half of them within | processor |\n"
                  "| --- | --- | --- | --- | --- | --- |\n")
        of = {f.id: {w: r for w, r in tried.get(f.id, {}).items() if was_tried(r)} for f in faults}
        for w in worlds:
            its = {i: results[w] for i, results in of.items() if w in results}
            seen = [r["soon"] for r in its.values() if r["saw"]]
            alone = sum(1 for i, r in its.items() if r["saw"] and len(tried[i]) > 1
                        and sum(1 for o in of[i].values() if o["saw"]) == 1)
            half = f"{statistics.median(seen):.1f} s" if seen else ""
            out.write(f"| {w} | {len(its)} | {len(seen)} | {alone} | {half} | "
                      f"{sum(r['spent'] for r in its.values()):.0f} s |\n")
    unseen = [f for f in faults if of[f.id] and not any(r["saw"] for r in of[f.id].values())]
    for f in unseen:
        print(f"seen by nothing that was tried ({', '.join(of[f.id])}): {f.rule}: {f.text}")
    return not unseen


# ---- all of them ----


def load(folder, fault):
    path = os.path.join(folder, "faults", fault.id)
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file)


def store(folder, fault, results):
    path = os.path.join(folder, "faults", fault.id)
    with open(path + ".new", "w") as file:
        json.dump(results, file)
    os.rename(path + ".new", path)


def prepare(folder, build, jobs, of, faults):
    """The jobs, with how long the programs take without a fault."""
    every = sum(of.values(), [])
    targets = [e[1] for e in every] + [target for f in faults for world, target, _ in f.programs if world in of]
    tried = {program for t in targets for program in tried_by(t).values()}
    build.make(["-s", "SHELL=/bin/sh", "tests/support/zkl-watchdog", *sorted(tried)])
    path = os.path.join(folder, "seconds.json")
    times = {}
    if os.path.exists(path):
        with open(path) as file:
            times = json.load(file)
    made = [Job(build, os.path.join(folder, "scratch", str(n)), of, times) for n in range(jobs)]
    for entry in every:
        if entry[0] in times or world_of(entry) not in PURE:
            continue
        status, output, seconds = made[0].run(world_of(entry), entry, {None: os.path.join(build.build, entry[1])})
        if status != 0:
            matrix.die(f"{entry[0]} fails without any fault: {output[-2000:]}")
        times[entry[0]] = seconds
        with open(path, "w") as file:
            json.dump(times, file)
    return made


def try_all(folder, made, faults, worlds, args):
    lock, todo = threading.Lock(), collections.deque(faults)

    def work(job):
        while True:
            with lock:
                if not todo:
                    return
                fault = todo.popleft()
            results = load(folder, fault)
            asked = [w for w in worlds if not args.named or any(w == p[0] for p in fault.programs)]
            if all(w in results for w in asked):
                continue
            if job.try_fault(fault, asked, results, args.seconds):
                store(folder, fault, results)
                print(f"{fault.rule} {fault.text}: " + ", ".join(f"{w} {cell(results[w])}" for w in asked), flush=True)
            else:
                print(f"{fault.rule} {fault.text}: nothing to the compiler, or refused by it", flush=True)

    with concurrent.futures.ThreadPoolExecutor(len(made)) as workers:
        for w in [workers.submit(work, job) for job in made]:
            w.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", default=",".join(PURE), help="of " + ", ".join(WORLDS))
    parser.add_argument("--only", metavar="PATTERN", default="", help="the faults whose \"rule text\" matches")
    parser.add_argument("--again", metavar="PATTERN", help="forget what came of those that match")
    parser.add_argument("--named", action="store_true", help="only the programs that a fault names")
    parser.add_argument("--seconds", type=float, default=30, help="of the processor, for one fault in one world")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", default="_build/faults")
    parser.add_argument("--table", default="_build/worlds.md")
    parser.add_argument("--page", default=os.path.join(HERE, "worlds.md"), help="the table before")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--check", nargs="?", const=matrix.ROOT, metavar="ROOT")
    parser.add_argument("--stale", action="store_true")
    parser.add_argument("--find", metavar="PATTERN")
    parser.add_argument("--schedules", type=int, default=300)
    parser.add_argument("--build", default=os.path.join(matrix.ROOT, "_build/gcc"))
    parser.add_argument("--faults", default=os.path.join(HERE, "faults.txt"))
    args = parser.parse_args()
    if args.check:
        for misfit in misfits(args.check):
            print(misfit)
        return 0
    faults = read_faults(args.faults)
    if args.stale or args.find:
        build = relink.Build(args.build)
        sought = [f for f in faults if args.find and re.search(args.find, f"{f.rule} {f.text}")]
        with tempfile.TemporaryDirectory() as scratch:
            for line in stale(build, faults, scratch) if args.stale else ():
                print(line, flush=True)
            for fault in sought:
                found = find(build, fault, scratch, args.schedules)
                print(f"* {fault.rule} {fault.text}\n{'@ ' + found if found else 'is seen by none'}", flush=True)
        return 0
    worlds = args.worlds.split(",")
    if set(worlds) - set(WORLDS):
        matrix.die(f"worlds are {', '.join(WORLDS)}")
    folder = os.path.abspath(args.folder)
    os.makedirs(os.path.join(folder, "faults"), exist_ok=True)
    chosen = [f for f in faults if re.search(args.only, f"{f.rule} {f.text}")]
    if not args.report:
        for fault in faults if args.again else []:
            if re.search(args.again, f"{fault.rule} {fault.text}"):
                store(folder, fault, {})
        made = prepare(folder, relink.Build(args.build), args.jobs, programs(worlds), chosen)
        try_all(folder, made, chosen, worlds, args)
    before = read_page(args.page)
    tried = {f.id: {**before.get((f.rule, f.text), {}), **load(folder, f)} for f in faults}
    return 0 if write_table(args.table, faults, tried) else 1


if __name__ == "__main__":
    sys.exit(main())
