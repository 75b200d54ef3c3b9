#!/usr/bin/env python3
"""How zkl lock, zkl elect and zkl once end what runs under them: a table of kinds of processes and
ways of losing. Each cell is the smallest gap, in ms, between the last act of anything below the old
holder and the first act of the next one, who waits in line; both are times that the processes
themselves write by one clock (stamp.c). A negative gap is an overlap. Exits with 1 when there is one
that zkl-guard(7) does not name."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from gate import Gate

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("top_builddir", HERE.parent.parent / "_build" / "gcc")).resolve()
ZKL = os.environ.get("ZKL", str(BUILD / "tools/zkl"))
STAMP = str(BUILD / "tests/cli/stamp")
GATE = str(BUILD / "tests/cli/gate")
ADMIN = str(BUILD / "tests/cli/zk-admin")
SERVER = str(BUILD / "tests/support/zkl-server")

# Shell text: $S ends 1.5 s after TERM or INT, $Q at once; both want a file in $A. $Z is zkl with
# options. What has files of how many processes.
INNER = "$Z lock $P-inner -- sh -c 'true; $S $A/a; echo'"
KINDS = {
    "exec": (1, "exec $Q $A/a"),
    "exec, cleans up": (1, "exec $S $A/a"),
    "exec, deaf": (1, "trap '' TERM INT; exec $Q $A/a"),
    "worker of a shell": (1, "$Q $A/a; echo"),
    "worker, cleans up": (1, "$S $A/a; echo"),
    "worker, deaf": (1, "(trap '' TERM INT; exec $Q $A/a); echo"),
    "background jobs": (2, "$S $A/a & $S $A/b & wait"),
    "orphan in the group": (2, "($S $A/a &); exec $Q $A/b"),
    "pipeline": (2, "$S $A/a | cat | $S $A/b"),
    "respawning": (2, "(trap '' TERM INT; while :; do $Q $A/a; done) & exec $Q $A/b"),
    "twenty": (20, "for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j; do $S $A/$i & done; wait"),
    "setsid": (2, "setsid -f $S $A/a; exec $Q $A/b"),
    "setsid, deaf": (2, "(trap '' TERM INT; setsid -f $Q $A/a); exec $Q $A/b"),
    "daemon": (2, "setsid sh -c '$S $A/a & exit' </dev/null; exec $Q $A/b"),
    "setpgid": (2, "set -m; $S $A/a & set +m; exec $Q $A/b"),
    "nohup": (2, "nohup $S $A/a >/dev/null 2>&1 & exec $Q $A/b"),
    "timeout in a script": (1, "timeout 0 $S $A/a; echo"),
    "make": (1, "printf 'all:\\n\\t@%s\\n' \"$S $A/a\" >$A.mk; make -s -f $A.mk; echo"),
    "xargs": (2, "printf '%s\\n' a b | xargs -P 2 -I{} $S $A/{}"),
    "parallel": (2, "parallel -j 2 $S $A/{} ::: a b"),
    "flock": (1, "flock $A.lock $S $A/a; echo"),
    "nested lock": (1, INNER + "; echo"),
    "nested, make": (1, "printf 'all:\\n\\t@%s\\n' \"" + INNER + "\" >$A.mk; make -s -f $A.mk; echo"),
    "three levels": (1, "$Z lock $P-middle -- sh -c \"true; " + INNER.replace("$", "\\$") + "; echo\"; echo"),
    "setpriv": (1, "setpriv --reuid 65534 --clear-groups $S $A/a; echo"),
    "runuser": (1, "runuser -u nobody -- $S $A/a; echo"),
    "su -c": (1, "su -s /bin/sh nobody -c \"$S $A/a; echo\"; echo"),
    "sudo": (1, "sudo -u nobody $S $A/a; echo"),
    "tmux": (2, "tmux -L $T -f /dev/null new-session -d \"$S $A/a\"; exec $Q $A/b"),
    "pseudo-terminal": (1, "script -qfec \"$S $A/a\" /dev/null; echo"),
    "stopped child": (2, "$S $A/a & until [ -s $A/a ]; do sleep 0.02; done; kill -STOP $!; exec $Q $A/b"),
    "parent in vfork": (1, "$S $A/a vfork; echo"),
    "first thread dead": (1, "$S $A/a thread; echo"),
    "hopper": (5, "for i in a b c d; do $Q $A/$i 0 hop; done; exec $Q $A/e"),
    "nice 19": (2, "(trap '' TERM INT; setsid -f $Q $A/a); exec $Q $A/b"),
    "timeout zkl lock": (1, "timeout 0 $Z lock $P-inner -- sh -c '$S $A/a; echo'; echo"),
}
# What zkl is run by: others are busy beside it, in its session, as the scheduler may share by that.
BUSY = 'for i in 1 2; do while [ -e $A ]; do :; done & done; '
# Where there is a cgroup, it alone would end the hopper.
ALONE = ["unshare", "-m"] if os.getuid() == 0 else []
BY = {"hopper": ALONE + ["sh", "-c", BUSY + 'umount -alt cgroup2 2>/dev/null; exec "$@"', "sh"],
      "nice 19": ["sh", "-c", BUSY + 'exec nice -n 19 "$@"', "sh"]}
# Asked by TERM, these clean up: nobody kills them before.
CLEAN = {"exec, cleans up", "timeout zkl lock"}
NEEDS = {"parallel": "parallel", "tmux": "tmux", "sudo": "sudo", "pseudo-terminal": "script"}
AS_ROOT = {"setpriv", "runuser", "su -c", "sudo"}

WAYS = ["cut", "stopped", "killed", "tool killed", "guard killed", "guard stopped, cut", "deleted", "TERM", "INT", "second TERM"]
CUT = {"cut", "guard stopped, cut"}


# They have sessions of their own, as a hopper has, which nobody would end then.
DAEMONS = {"setsid", "setsid, deaf", "daemon", "su -c", "tmux", "pseudo-terminal"}


def is_named(kind, way, options):
    """zkl-guard(7): an administrator deletes the node; zkl alone hunts a hopper on a busy machine; daemons are left."""
    return (way == "deleted" or (kind == "hopper" and way == "guard stopped, cut")
            or (options.leave_daemons and kind in DAEMONS))


def late():
    """Whether the limit of the watchdog around us, if there is one, has passed without a step."""
    return os.path.exists(os.environ.get("ZKL_PROGRESS", "") + ".late")


def step():
    progress = os.environ.get("ZKL_PROGRESS", "")
    if os.path.exists(progress):
        with open(progress, "ab") as file:
            file.write(b".")


def wait_for(what, condition):
    while not (result := condition()):
        if late():
            raise RuntimeError(f"this does not come: {what}")
        time.sleep(0.05)
    step()
    return result


def stat(pid):
    """State and parent; None of one who is no more."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent = text[text.rindex(")") + 2:].split()[:2]
    return state, int(parent)


def mentioning(mark):
    """The live processes that have mark in their arguments or environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        for part in ("cmdline", "environ"):
            try:
                if mark in pathlib.Path(f"/proc/{name}/{part}").read_bytes():
                    found.append(int(name))
                    break
            except OSError:
                pass
    return found


def send(pid, signo):
    try:
        os.kill(pid, signo)
    except ProcessLookupError:
        pass


class Round:
    def __init__(self, options, kind, way, number):
        self.options, self.kind, self.way = options, kind, way
        name = f"{options.verb}{list(KINDS).index(kind)}-{WAYS.index(way)}-{number}"
        self.path = f"/tree/{name}x"
        self.dir = options.scratch / name
        self.acts = self.dir / "acts"
        self.first = self.dir / "first"
        self.acts.mkdir(parents=True)
        for place in (self.dir, self.acts):
            place.chmod(0o777)
        self.mark = f"{self.dir}/".encode()
        self.gate = None
        self.notes = ""

    def start_gate(self):
        self.gate = Gate(GATE)
        return self.gate.connect

    def zkl(self, verb, ident, connect, command, **more):
        where = [self.path, ident] if verb == "elect" else [self.path]
        last = ["--kill-after", "3"] if self.options.kill_after else []
        if self.options.leave_daemons and ident == "old":
            last.append("--leave-daemons")
        args = [ZKL, "--connect", connect, "--session-timeout", self.options.session_timeout, verb]
        by = BY.get(self.kind, []) if ident == "old" else []
        return subprocess.Popen(by + args + last + where + ["--"] + command, start_new_session=True,
                                stdin=subprocess.DEVNULL, **more)

    def start_holder(self, connect):
        inner = f"{ZKL} --session-timeout {self.options.session_timeout}"
        env = dict(os.environ, A=str(self.acts), Q=STAMP, S=f"{self.dir}/stamp", Z=inner, P=self.path,
                   T=self.dir.name, SHELL="/bin/sh")
        shim = self.dir / "stamp"
        shim.write_text(f'#!/bin/sh\nfile=$1; shift; exec {STAMP} "$file" 1500 "$@"\n')
        shim.chmod(0o755)
        # A later term of the same candidate is of no interest.
        body = ('[ ! -e $A.begun ] || exec sleep 1000; echo "$PPID $ZKL_NODE" >$A.new; mv $A.new $A.begun\n'
                + KINDS[self.kind][1])
        errors = open(self.dir / "errors", "w")
        self.holder = self.zkl(self.options.verb, "old", connect, ["sh", "-c", body], env=env,
                               stdout=subprocess.DEVNULL, stderr=errors)
        errors.close()

    def in_line(self):
        for name, process in (("errors", self.holder), ("next", self.next)):
            if process.poll() is not None:
                raise RuntimeError("ended early: " + (self.dir / name).read_text().strip())
        return self.contenders() >= 2

    def contenders(self):
        out = subprocess.run([ZKL, "ls", self.path, "--json"], capture_output=True, text=True, check=False)
        return len(json.loads(out.stdout)) if out.returncode == 0 and out.stdout else 0

    def acting(self):
        if self.holder.poll() is not None:
            raise RuntimeError("ended early: " + (self.dir / "errors").read_text().strip())
        files = [f for f in self.acts.iterdir() if f.stat().st_size > 0]
        return len(files) >= KINDS[self.kind][0] and pathlib.Path(f"{self.acts}.begun").exists()

    def start_next(self):
        connect = os.environ["ZKL_CONNECT"]
        with open(self.first, "w") as out, open(self.dir / "next", "w") as errors:
            command = ["sh", "-c", f"{STAMP}; sleep 0.1"]
            self.next = self.zkl(self.options.verb, "new", connect, command, stdout=out, stderr=errors)

    def lose(self):
        self.lost = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        guard, node = pathlib.Path(f"{self.acts}.begun").read_text().split()
        tool = stat(guard)[1]  # a candidate, below its supervisor
        both = {tool, self.holder.pid}
        if self.way == "guard stopped, cut":
            send(int(guard), signal.SIGSTOP)
        if self.way in CUT:
            self.gate.order("silence")
        elif self.way == "stopped":
            for pid in both:
                send(pid, signal.SIGSTOP)
        elif self.way == "killed":
            send(self.holder.pid, signal.SIGKILL)
        elif self.way == "tool killed":
            send(tool, signal.SIGKILL)
        elif self.way == "guard killed":
            send(int(guard), signal.SIGKILL)
        elif self.way == "deleted":
            subprocess.run([ADMIN, "delete", node], check=True)
        else:
            send(self.holder.pid, signal.SIGINT if self.way == "INT" else signal.SIGTERM)
        if self.way == "second TERM":
            time.sleep(0.5)  # a second one counts from 0.3 s after the first
            send(self.holder.pid, signal.SIGTERM)

    def await_next(self):
        """Who is deaf may go on, if it keeps the lock; a second TERM ends that."""
        again = time.monotonic() + 12
        while self.next.poll() is None:
            if time.monotonic() > again and self.way in ("TERM", "INT") and not self.notes:
                self.notes = "2"
                send(self.holder.pid, signal.SIGTERM)
            if late():
                raise RuntimeError("the next one is not served")
            time.sleep(0.05)
        step()
        if self.next.returncode != 0:
            raise RuntimeError("the next one: " + (self.dir / "next").read_text().strip())

    def last_act(self):
        """Also of those who act again when they are continued."""
        for pid in mentioning(self.mark):
            if (s := stat(pid)) and s[0] in "Tt" and pid != self.holder.pid:
                send(pid, signal.SIGCONT)
        time.sleep(0.1)
        # One that was killed right after its start has left zeros.
        return max(int(text) for f in self.acts.iterdir() if (text := f.read_text().strip("\0")))

    def clean(self):
        for pid in mentioning(self.mark):
            send(pid, signal.SIGKILL)
        for process in (self.holder, self.next):
            if process:
                send(process.pid, signal.SIGCONT)
                process.kill()
                process.wait()
        if self.gate:
            self.gate.close()
        for pid in mentioning(self.mark):
            send(pid, signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def run(self):
        self.holder = self.next = None
        try:
            connect = self.start_gate() if self.way in CUT else os.environ["ZKL_CONNECT"]
            self.start_holder(connect)
            wait_for("all act", self.acting)
            self.start_next()
            wait_for("the next one queues", self.in_line)
            self.lose()
            self.await_next()
            last = self.last_act()
            if self.way == "TERM" and self.kind in CLEAN and last < self.lost + 1.4e9:
                raise RuntimeError("was killed while it cleaned up")
            return int(self.first.read_text()) - last
        finally:
            self.clean()


class Table:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.gaps, self.troubles, self.notes = {}, [], set()

    def add(self, one, gap):
        with self.lock:
            self.gaps.setdefault((one.kind, one.way), []).append(gap / 1e6)
            if one.notes:
                self.notes.add((one.kind, one.way))

    def cell(self, kind, way):
        gaps = self.gaps.get((kind, way))
        if not gaps:
            return "?"
        overlaps = sum(gap < 0 for gap in gaps)
        note = "*" if (kind, way) in self.notes else ""
        return f"{min(gaps):.1f}{note}" + (f" ({overlaps}/{len(gaps)})" if overlaps else "")

    def show(self, kinds, ways):
        rows = [["", *ways]] + [[kind, *(self.cell(kind, way) for way in ways)] for kind in kinds]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            print("  ".join(text.ljust(width) if i == 0 else text.rjust(width)
                            for i, (text, width) in enumerate(zip(row, widths))))
        print("\nms; (how many of how many overlapped); *: kept the lock until a second TERM")

    def overlaps(self, named):
        return sum(gap < 0 for cell, gaps in self.gaps.items() for gap in gaps
                   if is_named(*cell, self.options) == named)


def play(table, one):
    try:
        table.add(one, one.run())
    except Exception as error:  # pylint: disable=broad-except
        with table.lock:
            table.troubles.append(f"{one.kind}, {one.way}: {error}")


def possible(kind):
    return (shutil.which(NEEDS.get(kind, "sh")) and (os.getuid() == 0 or kind not in AS_ROOT)
            and (kind != "nice 19" or subprocess.run(["chrt", "-r", "1", "true"], capture_output=True, check=False).returncode == 0))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="of each cell (1)")
    parser.add_argument("--at-once", type=int, default=12, help="rounds side by side (12)")
    parser.add_argument("--leave-daemons", action="store_true", help="leave those with a session of their own")
    parser.add_argument("--verb", choices=["lock", "elect", "once"], default="lock")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="this kind alone; may be repeated")
    parser.add_argument("--way", action="append", choices=WAYS, help="this way alone; may be repeated")
    parser.add_argument("--session-timeout", default="3", metavar="SECS")
    return parser.parse_args()


def main():
    options = arguments()
    if "ZKL_TREE_INSIDE" not in os.environ:
        os.environ["ZKL_TREE_INSIDE"] = "1"
        os.execv(SERVER, [SERVER, "--tick", "200", "--", sys.executable, "-B", __file__, *sys.argv[1:]])
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kinds = [kind for kind in options.kind or KINDS if possible(kind) and not (options.leave_daemons and kind == "hopper")]
    ways = options.way or WAYS
    with open(os.devnull) as nothing:
        text = subprocess.run([ZKL, "lock", "--help"], capture_output=True, text=True, check=True, stdin=nothing)
    options.kill_after = "--kill-after" in text.stdout
    options.scratch = pathlib.Path(tempfile.mkdtemp(prefix="zkl-tree-"))
    options.scratch.chmod(0o755)
    table = Table(options)
    began = time.monotonic()
    rounds = [Round(options, kind, way, i) for i in range(options.rounds) for kind in kinds for way in ways]
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(lambda one: play(table, one), rounds))
    shutil.rmtree(options.scratch, ignore_errors=True)
    table.show(kinds, ways)
    for trouble in sorted(table.troubles):
        print("trouble:", trouble)
    print(f"zkl {options.verb}: {len(kinds)} kinds, {len(ways)} ways, {options.rounds} rounds in "
          f"{time.monotonic() - began:.0f} s: {table.overlaps(False)} overlaps, "
          f"{table.overlaps(True)} more as zkl-guard(7) says, {len(table.troubles)} troubles")
    sys.exit(1 if table.overlaps(False) or table.troubles else 0)


if __name__ == "__main__":
    main()
