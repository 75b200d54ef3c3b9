#!/usr/bin/env python3
"""What a check has cost, for `./dev check --ledger`.

    ledger.py listen FILE          until TERM, or the end of the process that has started it: hears from the kernel
                                   (taskstats) what each process that ends has run, and writes the sums to FILE
    ledger.py report RESULTS SECONDS
                                   RESULTS has of each stage X its title and seconds (X.stage), what it ran
                                   (X.times) and a line for each of its tests (X.tests), and FILE as "kinds"
"""
import collections
import errno
import json
import os
import re
import shutil
import signal
import socket
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMM = 15  # characters that the kernel keeps of a name

# linux/netlink.h, linux/genetlink.h, linux/taskstats.h
NETLINK_GENERIC, SO_RCVBUFFORCE, REQUEST, ACK, NLMSG_ERROR = 16, 33, 1, 4, 2
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
TASKSTATS_CMD_GET, ATTR_PID, ATTR_REGISTER_CPUMASK, TYPE_STATS, TYPE_AGGR_PID = 1, 1, 3, 3, 4
BUFFER = 64 << 20  # some 100,000 messages

# Members of struct taskstats: ac_flag, ac_comm, ac_pid, ac_utime, ac_stime, ac_tgid, ac_exe_inode; from version 12 on.
STATS = struct.Struct("=8xB71x32s16xI20xQQ200xI20xQ")
AGROUP = 0x20  # the last thread of its process

# Which name belongs to what people ask for. What is not here is found by its file.
GROUPS = {
    "JVMs": "java javac jar",
    "compilers": "cc1 cc1plus clang clang++ clang-14 clang-format as gcc g++ c++ cc cpp x86_64-linux-gn lto-wrapper",
    "linking": "collect2 ld ld.bfd ld.lld lld gold ar ranlib nm objcopy objdump strip readelf",
    "make, libtool, autoconf": "make gmake libtool configure config.status config.guess config.sub conftest autoconf "
                               "autoreconf autoheader automake autom4te aclocal libtoolize m4 perl pkg-config pkgconf "
                               "mkdir-p missing depcomp install-sh",
    "forks of scripts": "bash sh dash sed grep egrep awk mawk gawk cat sleep tr sort uniq head tail cut paste wc rm "
                        "rmdir mkdir mkfifo mktemp mv cp ln ls touch chmod chown stat install readlink realpath "
                        "basename dirname date expr echo printf test true false env nice renice setsid timeout nohup "
                        "kill ps pgrep find xargs tee seq yes od cmp diff comm join split dd id uname hostname nproc "
                        "tty stty script gzip tar getconf ldconfig which zsh ip ss nsenter unshare setarch flock jq "
                        "git man mandoc groff troff grotty cmark-gfm col gdb strace jstack dpkg-query sha256sum shuf "
                        "iconv printenv arch file mount umount prlimit pwd pidof df uptime rpmspec",
    "python": "python python3 python3.11 pip mypy",
}
BUILDS = {"sub": "distcheck"}  # where the folder has another name
SCRIPTS, PYTHON, ZKL, OTHERS = "forks of scripts", "python", "the command zkl", "others"


class Cost:
    """A sum of what processes or tests ran, in seconds."""

    def __init__(self):
        self.count, self.wall, self.user, self.system, self.delayed = 0, 0.0, 0.0, 0.0, 0.0

    def add(self, other):
        """Adds another sum to this one."""
        self.count += other.count
        self.wall += other.wall
        self.user += other.user
        self.system += other.system
        self.delayed += other.delayed

    @property
    def ran(self):
        """The processors' time."""
        return self.user + self.system

    @property
    def waited(self):
        """The time in which nothing of it ran, at least."""
        return max(self.wall - self.ran, 0)


def total(costs):
    """The sum of all."""
    result = Cost()
    for cost in costs:
        result.add(cost)
    return result


# ---- what the kernel says ----


class Unable(Exception):
    """There is nothing to hear; the text says why."""


def attribute(kind, data):
    """One attribute of a netlink message."""
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def attributes(data, offset, end):
    """Kind, beginning and end of each attribute between two offsets."""
    while offset + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, offset)
        if length < 4:
            return
        yield kind, offset + 4, offset + length
        offset += (length + 3) & ~3


def messages(data):
    """Kind, beginning and end of each message of a datagram."""
    offset = 0
    while offset + 16 <= len(data):
        length, kind = struct.unpack_from("=IH", data, offset)
        if length < 16:
            return
        yield kind, offset + 16, offset + length
        offset += (length + 3) & ~3


def ask(sock, kind, command, flags, asked):
    """Sends a request, and returns the payload of its answer."""
    payload = struct.pack("=BBH", command, 1, 0) + asked
    sock.send(struct.pack("=IHHII", 16 + len(payload), kind, REQUEST | flags, 1, 0) + payload)
    while True:
        data = sock.recv(65536)
        for answer, begin, end in messages(data):
            if answer == NLMSG_ERROR:
                code = -struct.unpack_from("=i", data, begin)[0]
                if code:
                    raise OSError(code, os.strerror(code))
                return b""
            if answer == kind:
                return data[begin:end]


def subscribe():
    """A socket that hears of each task that ends on any processor, and the kind of those messages."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    sock.settimeout(10)
    sock.bind((0, 0))
    answer = ask(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0, attribute(CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0"))
    family = next(struct.unpack_from("=H", answer, begin)[0] for kind, begin, _ in attributes(answer, 4, len(answer))
                  if kind == CTRL_ATTR_FAMILY_ID)
    check_layout(ask(sock, family, TASKSTATS_CMD_GET, 0, attribute(ATTR_PID, struct.pack("=I", os.getpid()))))
    processors = Path("/sys/devices/system/cpu/possible").read_bytes().strip()
    ask(sock, family, TASKSTATS_CMD_GET, ACK, attribute(ATTR_REGISTER_CPUMASK, processors + b"\0"))
    return sock, family


def tasks(data, begin, end):
    """The offset of each task's struct taskstats in the payload of a message."""
    for outer, inside, inner_end in attributes(data, begin + 4, end):
        if outer == TYPE_AGGR_PID:
            yield from (stats for inner, stats, _ in attributes(data, inside, inner_end) if inner == TYPE_STATS)


def check_layout(answer):
    """The answer about this process has what is known of it where it is looked for: a few kernels differ."""
    stats = next(tasks(answer, 0, len(answer)), len(answer))
    if stats + STATS.size <= len(answer):
        _, _, pid, _, _, process, inode = STATS.unpack_from(answer, stats)
        if (pid, process, inode) == (os.getpid(), os.getpid(), os.stat("/proc/self/exe").st_ino):
            return
    raise Unable("this kernel's struct taskstats has another layout")


class Sums:
    """What ended processes ran, by the name and the file of each."""

    def __init__(self):
        self.kinds = collections.defaultdict(lambda: [0, 0, 0])  # (name, inode): processes, user and system in µs
        self.running = collections.defaultdict(lambda: [0, 0, ("?", 0)])  # the same of those that have ended threads
        self.lost = 0

    def add(self, data, begin):
        """A task has ended: a thread counts for its process, which has the name of its first one."""
        flags, name, pid, user, system, process, inode = STATS.unpack_from(data, begin)
        sums = self.running[process]
        sums[0] += user
        sums[1] += system
        if pid == process:
            sums[2] = (name.split(b"\0")[0].decode(errors="replace"), inode)
        if flags & AGROUP:
            del self.running[process]
            kind = self.kinds[sums[2]]
            kind[0] += 1
            kind[1] += sums[0]
            kind[2] += sums[1]

    def add_all(self, data, family):
        """All tasks of a datagram."""
        for kind, begin, end in messages(data):
            for stats in tasks(data, begin, end) if kind == family else ():
                self.add(data, stats)


def hear(sock, family, sums, wanted):
    """Sums up until wanted() is false and all that was sent is read."""
    sock.settimeout(0.5)
    while True:
        if not wanted():
            sock.setblocking(False)
        try:
            sums.add_all(sock.recv(65536), family)
        except TimeoutError:
            pass
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            sums.lost += 1


def listen(file):
    """Listens until it is told to end, and writes what it has heard, or why it cannot."""
    parent, told, sums, reason = os.getppid(), [], Sums(), ""
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    try:
        sock, family = subscribe()
        hear(sock, family, sums, lambda: not told and os.getppid() == parent)
    except Unable as error:
        reason = str(error)
    except OSError as error:
        reason = "the kernel tells only root, outside of containers, what processes run (taskstats: %s)" % (
            error.strerror or error)
    if not reason and not sums.kinds:
        reason = "the kernel has told nothing (taskstats), as in a network namespace"
    if os.getppid() == parent:
        kinds = [[name, inode, *numbers] for (name, inode), numbers in sums.kinds.items()]
        Path(file).write_text(json.dumps({"reason": reason, "lost": sums.lost, "kinds": kinds}), encoding="utf-8")


# ---- what a process was ----


def own_programs(folder):
    """Of each program in builds under the folder: inode, build, path in it. Libtool's are in .libs."""
    for build in sorted(path.parent for path in folder.glob("*/config.status")):
        for top, folders, names in os.walk(build):
            if Path(top) == build:
                folders[:] = [name for name in folders if name in ("bench", "examples", "man", "tests", "tools")]
            for name in names:
                path = Path(top, name)
                if "." not in name and os.access(path, os.X_OK) and path.is_file():
                    yield path.stat().st_ino, build.name, str(path.relative_to(build)).replace(".libs/", "")


def interpreters():
    """The inodes of what runs scripts, which have names of their own."""
    found = {}
    for group, names in ((SCRIPTS, ("bash", "sh", "dash", "zsh")), (PYTHON, ("python3", "/usr/bin/python3"))):
        for path in filter(None, map(shutil.which, names)):
            found[os.stat(path).st_ino] = group
    found[os.stat(sys.executable).st_ino] = PYTHON
    return found


class Groups:
    """Which group a process belongs to, and what it is called there."""

    def __init__(self, folder):
        self.by_name = {name: group for group, names in GROUPS.items() for name in names.split()}
        self.interpreters = interpreters()
        self.files, self.names = {}, {}
        for inode, build, path in own_programs(folder):
            self.files[inode] = build, path
            self.names[os.path.basename(path)[:COMM]] = path

    def own(self, build, path):
        """A program of ours."""
        return (ZKL, build) if path.startswith("tools/") else ("test programs, " + build, path)

    def of(self, name, inode):
        """Group and name."""
        if inode in self.files:
            return self.own(*self.files[inode])
        if name in self.by_name:
            return self.by_name[name], name
        if inode in self.interpreters:
            group = self.interpreters[inode]
            return group, "python3" if group == PYTHON else "scripts by their own names"
        if name in self.names:
            return self.own("other folders", self.names[name])
        if name.startswith("zkl"):  # it gives its processes names
            return ZKL, "other folders"
        return OTHERS, name


# ---- the report ----


def seconds(cost):
    """What a row says of processors' time."""
    return "%9.1f %8.1f" % (cost.user, cost.system)


def by_time(rows):
    """Pairs of anything and a cost, those that ran longest first."""
    return sorted(rows, key=lambda row: -row[1].ran)


def read_test(line):
    """Name, cost, build and status of a test, from the watchdog's line."""
    folder, name, wall, user, system, delayed, status = line.split()
    build = BUILDS.get(folder, folder)
    cost = Cost()
    cost.count, cost.wall, cost.delayed = 1, float(wall), float(delayed)
    cost.user, cost.system = float(user), float(system)
    return re.sub("^.*/(?=tests/)", "", name), cost, build, int(status)


def read_tests(file):
    """The lines that can be read: a stage that was ended may have broken one off."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [read_test(line) for line in lines if re.fullmatch(r"\S+ \S+( \d+\.\d+){4} \d+", line)]


def read_stage(file):
    """Title, cost and tests of a stage."""
    cost = Cost()
    wall, title = file.read_text(encoding="utf-8").rstrip("\n").split(" ", 1)
    cost.count, cost.wall = 1, float(wall)
    times = file.with_suffix(".times")
    if times.exists():  # of the shell, then of what it has started
        minutes = re.findall(r"(\d+)m([\d.]+)s", times.read_text(encoding="utf-8"))
        cost.user, cost.system = [60 * int(m) + float(s) for m, s in minutes[-2:]]
    tests = read_tests(file.with_suffix(".tests"))
    cost.delayed = sum(test[1].delayed for test in tests)
    return title, cost, tests


def row(cost, name):
    """A line of a stage or a test."""
    return "%9.1f %s %9.1f %9.1f  %s" % (cost.wall, seconds(cost), cost.waited, cost.delayed, name)


HEADING = "%9s %9s %8s %9s %9s" % ("wall", "user", "system", "waited", "delayed")


def report_stages(stages, wall):
    """The stages, and their sum."""
    whole = total(cost for _, cost, _ in stages)
    yield "The check took %.0f s. Its %d stages, some of them at once, ran for %.0f s on %d processors." % (
        wall, len(stages), whole.ran, os.cpu_count())
    yield "All times are in s. waited: the wall's time less what it ran, on all processors together."
    yield "delayed: it could run, and got no processor; of a stage, the sum of its tests."
    yield ""
    yield HEADING + "  stage"
    for title, cost, _ in by_time(stages):
        yield row(cost, title)
    yield row(whole, "all stages")


def report_tests(stages):
    """The tests of each stage, and their sum."""
    for title, _, tests in by_time(stage for stage in stages if stage[2]):
        yield ""
        yield "%s  test of \"%s\"" % (HEADING, title)
        for name, cost, _, status in by_time(tests):
            yield row(cost, name + {0: "", 77: " (skipped)"}.get(status, " (status %d)" % status))
        yield row(total(test[1] for test in tests), "all %d" % len(tests))


def report_builds(stages):
    """The tests of each build. The shadow memory of sanitizers is the system's share."""
    builds = collections.defaultdict(Cost)
    for _, _, tests in stages:
        for _, cost, build, _ in tests:
            builds[build].add(cost)
    if not builds:
        return
    yield ""
    yield HEADING + "  tests of a build, with the system's share"
    for build, cost in by_time(builds.items()):
        yield row(cost, "%s: %d, %.0f %%" % (build, cost.count, 100 * cost.system / (cost.ran or 1)))
    yield row(total(builds.values()), "all tests")


def group_kinds(kinds, groups):
    """The costs by group and name."""
    found = collections.defaultdict(lambda: collections.defaultdict(Cost))
    for name, inode, count, user, system in kinds:
        cost = Cost()
        cost.count, cost.user, cost.system = count, user / 1e6, system / 1e6
        group, called = groups.of(name, inode)
        found[group][called].add(cost)
    return found


def report_kinds(heard, groups):
    """What the time is made of: groups, and in each what ran for a second or more."""
    yield ""
    if heard["reason"]:
        yield "What kinds of programs ran is not known: %s." % heard["reason"]
        return
    found = group_kinds(heard["kinds"], groups)
    sums = by_time((group, total(names.values())) for group, names in found.items())
    yield "%9s %9s %8s  all processes that ended on this machine meanwhile" % ("processes", "user", "system")
    for group, cost in sums:
        yield "%9d %s  %s" % (cost.count, seconds(cost), group)
        rest = Cost()
        for name, one in by_time(found[group].items()):
            if one.ran < 1:
                rest.add(one)
            else:
                yield "%9d %s    %s" % (one.count, seconds(one), name)
        if 0 < rest.count < cost.count:
            yield "%9d %s    the rest" % (rest.count, seconds(rest))
    whole = total(cost for _, cost in sums)
    yield "%9d %s  all" % (whole.count, seconds(whole))
    if heard["lost"]:
        yield "The kernel had more to say %d times than could be heard: these numbers are too small." % heard["lost"]


def read_kinds(file):
    """What the listener has written."""
    if not file.exists():
        return {"reason": "the listener has broken off"}
    return json.loads(file.read_text(encoding="utf-8"))


def report(results, wall):
    """Prints everything."""
    stages = [read_stage(file) for file in sorted(results.glob("*.stage"))]
    for lines in (report_stages(stages, wall), report_tests(stages), report_builds(stages),
                  report_kinds(read_kinds(results / "kinds"), Groups(ROOT / "_build"))):
        for line in lines:
            print(line)


def main(arguments):
    """One of the two commands."""
    if len(arguments) == 2 and arguments[0] == "listen":
        listen(arguments[1])
    elif len(arguments) == 3 and arguments[0] == "report":
        report(Path(arguments[1]), float(arguments[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
