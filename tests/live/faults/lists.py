#!/usr/bin/env python3
"""What an outage costs: lists of servers with dead ones anywhere, names that fail, are slow or change.
A process of each kind has a session and asks for its lock when the outage begins; the table says how
long after the server's return it has it, how often it tried to connect meanwhile, and what that cost.
Beside zkl: a bare libzookeeper program that creates a node until it stands (lists_bare.c), and kazoo.

In a network of its own, so it needs root: in a refused outage connections are reset and refused, in a
silent one packets vanish. Attempts are what the kernel counts of each kind's network, probes and all.
Each cell: the median and the longest time, then attempts a second, the share of a processor, and lines
of log for each process and outage. Exits with 1 when a zkl never had its lock."""

import argparse
import asyncio
import concurrent.futures
import os
import pathlib
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
BUILD = pathlib.Path(os.environ.get("top_builddir", ROOT / "_build" / "gcc")).resolve()
PORT = 2181
HERE_IP, FROM_IP, TO_IP, DARK_IP = "10.78.0.1", "10.78.0.8", "10.78.0.9", "10.78.0.66"
PATIENCE = 90  # seconds, that only a hang reaches
TIMEOUT_MS = 10000
NOBODY = "02:00:00:00:00:fe"

COMMANDS = {
    "zkl": lambda hosts: [str(BUILD / "tests/interop/zkl-peer"), hosts, "locks"],
    "bare": lambda hosts: [str(BUILD / "tests/live/faults/lists_bare"), hosts],
    "kazoo": lambda hosts: [sys.executable, "-B", __file__, "--kazoo", hosts],
}


def addresses(count):
    return ",".join("10.78.0.%d:%d" % (i, PORT) for i in range(count, 0, -1))


ROWS = dict(
    {"%d address%s" % (n, "es" if n > 1 else ""): addresses(n) for n in range(1, 8)},
    **{
        "2 dark of 3": "%s:%d,10.78.0.67:%d,%s:%d" % (DARK_IP, PORT, PORT, HERE_IP, PORT),
        "IPv6 and IPv4": "both.zk.test:%d" % PORT,
        "name that fails": "fails.zk.test:%d" % PORT,
        "slow name": "slow.zk.test:%d" % PORT,
        "name that moves": "moves.zk.test:%d" % PORT,
    }
)


def run(*words):
    subprocess.run(words, check=True)


class Names(threading.Thread):
    """A name server of the few names above. An outage may make them fail or move."""

    def __init__(self):
        super().__init__(daemon=True)
        self.at = FROM_IP
        self.outage = False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((HERE_IP, 53))
        self.start()

    def answer(self, query, host, kind):
        name, ip = query[12 : query.index(0, 12) + 5], self.at if host == "moves" else HERE_IP
        records = [socket.inet_aton(ip)] if kind == 1 else []
        if kind == 28 and host == "both":
            records = [socket.inet_pton(socket.AF_INET6, "fd78::1")]
        failed = self.outage and host == "fails"
        head = struct.pack(">HHHHHH", struct.unpack(">H", query[:2])[0], 0x8180 | 2 * failed, 1,
                           0 if failed else len(records), 0, 0)
        data = b"".join(struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(r)) + r for r in records)
        return head + name + (b"" if failed else data)

    def run(self):
        while True:
            query, client = self.socket.recvfrom(512)
            host = query[13 : 13 + query[12]].decode()
            kind = query[query.index(0, 12) + 2]
            wait = 2 if host == "slow" and self.outage else 0
            threading.Timer(wait, self.socket.sendto, (self.answer(query, host, kind), client)).start()


class Way:
    """To the server, from the addresses that a list may name."""

    def __init__(self, target):
        self.target, self.listeners, self.clients = target, {}, set()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
        except OSError:
            pass
        writer.close()

    async def serve(self, reader, writer):
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.clients.add(writer)
        try:
            up = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(self.pump(reader, up[1]), self.pump(up[0], writer))
        except OSError:
            writer.transport.abort()
        self.clients.discard(writer)

    async def begin(self, ip):
        self.listeners[ip] = await asyncio.start_server(self.serve, ip, PORT)

    async def end(self, ip):
        self.listeners.pop(ip).close()
        for writer in list(self.clients):
            if writer.get_extra_info("sockname")[0] == ip:
                writer.transport.abort()

    def do(self, what):
        asyncio.run_coroutine_threadsafe(what, self.loop).result()


class Network:
    """That of one kind of process; its end leads to the bridge, or nowhere."""

    count = 0

    def __init__(self):
        Network.count += 1
        self.link = "zklv%d" % Network.count
        self.keeper = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
            stdout=subprocess.PIPE)
        self.keeper.stdout.readline()
        self.within = ["nsenter", "-n", "-t", str(self.keeper.pid), "--"]
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.keeper.pid))
        run("ip", "link", "set", self.link, "master", "zklbr0", "up")
        run(*self.within, "ip", "addr", "add", "10.78.0.%d/24" % (100 + Network.count), "dev", "eth0")
        run(*self.within, "ip", "link", "set", "lo", "up")
        run(*self.within, "ip", "link", "set", "eth0", "up")
        run(*self.within, "ip", "addr", "add", "fd78::%d/64" % (100 + Network.count), "dev", "eth0", "nodad")
        for dark in (DARK_IP, "10.78.0.67"):
            run(*self.within, "ip", "neigh", "replace", dark, "lladdr", NOBODY, "nud", "permanent", "dev", "eth0")

    def cut(self, silent):
        run("ip", "link", "set", self.link, *(["nomaster"] if silent else ["master", "zklbr0"]))

    def attempts(self):
        with open("/proc/%d/net/snmp" % self.keeper.pid) as f:
            keys, values = [line.split() for line in f if line.startswith("Tcp:")]
        return int(values[keys.index("ActiveOpens")])


class Subject:
    """A process with a lock of its own."""

    count = 0

    def __init__(self, library, network, hosts):
        Subject.count += 1
        self.path = "/lists-%d" % Subject.count
        self.log = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen(
            network.within + COMMANDS[library](hosts),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            env=dict(os.environ, PEER_SESSION_MS=str(TIMEOUT_MS)))

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hold(self):
        self.ask("hold %s zkl" % self.path)

    def release(self):
        self.ask("release")
        self.hear()

    def turn(self):
        self.hold()
        self.hear()
        self.release()

    def hear(self):
        """When it answered; a hang ends the process, and there is no answer."""
        end = threading.Timer(PATIENCE, self.process.kill)
        end.start()
        line = self.process.stdout.readline()
        end.cancel()
        return time.monotonic() if line.startswith("ok") else None

    def lines(self):
        with open(self.log.name, "rb") as f:
            return f.read().count(b"\n")

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


class World:
    def __init__(self):
        run("ip", "link", "add", "zklbr0", "type", "bridge")
        run("ip", "link", "set", "zklbr0", "up")
        for i in range(1, 10):
            run("ip", "addr", "add", "10.78.0.%d/24" % i, "dev", "zklbr0")
        run("ip", "addr", "add", "fd78::1/64", "dev", "zklbr0", "nodad")
        resolv = tempfile.NamedTemporaryFile("w")
        resolv.write("nameserver %s\noptions timeout:5\n" % HERE_IP)
        resolv.flush()
        run("mount", "--bind", resolv.name, os.path.realpath("/etc/resolv.conf"))
        self.names = Names()
        self.way = Way(int(os.environ["ZKL_CONNECT"].rsplit(":", 1)[1]))
        for ip in (HERE_IP, self.names.at):
            self.way.do(self.way.begin(ip))

    def begin(self, networks, silent):
        """From now on it is an outage."""
        self.names.outage = True
        if silent:
            for n in networks:
                n.cut(True)
        for ip in () if silent else list(self.way.listeners):
            self.way.do(self.way.end(ip))

    def end(self, networks):
        """The server is there again, and has moved for those who ask."""
        if self.names.at in self.way.listeners:
            self.way.do(self.way.end(self.names.at))
        self.names.at = {FROM_IP: TO_IP, TO_IP: FROM_IP}[self.names.at]
        self.names.outage = False
        for ip in {HERE_IP, self.names.at} - set(self.way.listeners):
            self.way.do(self.way.begin(ip))
        for n in networks:
            n.cut(False)

    def outage(self, networks, subjects, seconds, silent):
        """For each subject: seconds to its lock, None: never. And what the outage cost."""
        for s in subjects:
            s.turn()
        lines, cpu = [s.lines() for s in subjects], [s.cpu() for s in subjects]
        tried = [n.attempts() for n in networks]
        self.begin(networks, silent)
        for s in subjects:
            s.hold()
        time.sleep(seconds)
        cpu = [s.cpu() - c for s, c in zip(subjects, cpu)]
        tried = [n.attempts() - t for n, t in zip(networks, tried)]
        self.end(networks)
        back = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(len(subjects)) as pool:
            heard = list(pool.map(Subject.hear, subjects))
        lines = [s.lines() - n for s, n in zip(subjects, lines)]
        for s, h in zip(subjects, heard):
            if h:
                s.release()
        return [h and max(h - back, 0) for h in heard], tried, cpu, lines


def measure(world, library, names, seconds, silent, options):
    """A cell of each row: they have the same outages, each in a network of its own."""
    networks = [Network() for _ in names]
    subjects = [[Subject(library, n, ROWS[name]) for _ in range(options.processes)]
                for n, name in zip(networks, names)]
    rows = [[[], [], [], []] for _ in names]
    for _ in range(options.rounds):
        flat = [s for group in subjects for s in group]
        took, tried, cpu, lines = world.outage(networks, flat, seconds, silent)
        for i, group in enumerate(subjects):
            for s in group:
                k = flat.index(s)
                rows[i][0].append(took[k])
                rows[i][2].append(cpu[k])
                rows[i][3].append(lines[k])
            rows[i][1].append(tried[i] / options.processes)
            for j, s in enumerate(group):
                if took[flat.index(s)] is None:
                    s.end()
                    group[j] = Subject(library, networks[i], ROWS[names[i]])
    for group in subjects:
        for s in group:
            s.end()
    for n in networks:
        n.keeper.kill()
        n.keeper.wait()
    return rows


def cell(row, seconds):
    took, tried, cpu, lines = row
    held = [t for t in took if t is not None]
    never = len(took) - len(held)
    return "%s%s; %.1f a s, %.1f %%, %g lines" % (
        "%.2f, %.2f s" % (statistics.median(held), max(held)) if held else "",
        " (%d of %d never)" % (never, len(took)) if never else "",
        statistics.mean(tried) / seconds, statistics.mean(cpu) / seconds * 100, round(statistics.mean(lines), 1))


def within(options):
    world, failed = World(), False
    libraries = options.libraries.split(",")
    print("| list | outage | %s |\n|%s" % (" | ".join(libraries), " --- |" * (len(libraries) + 2)), flush=True)
    names = [name for name in ROWS if any(w in name for w in options.rows.split(","))]
    for seconds in [float(s) for s in options.outages.split(",")]:
        for silent in [k == "silent" for k in options.kinds.split(",")]:
            for at in range(0, len(names), options.at_once):
                some = names[at : at + options.at_once]
                all_rows = {lib: measure(world, lib, some, seconds, silent, options) for lib in libraries}
                for i, name in enumerate(some):
                    print("| %s | %g s %s | %s |" % (
                        name, seconds, "silent" if silent else "refused",
                        " | ".join(cell(all_rows[lib][i], seconds) for lib in libraries)), flush=True)
                failed |= any(None in row[0] for row in all_rows.get("zkl", []))
    return failed


def play_kazoo(hosts):
    """Commands as of the others."""
    from kazoo.client import KazooClient

    client, lock = KazooClient(hosts, timeout=TIMEOUT_MS / 1000), None
    client.start(timeout=PATIENCE)
    for line in sys.stdin:
        word, *args = line.split()
        while word == "hold":
            try:
                lock = client.Lock(args[0])
                if lock.acquire():
                    break
            except Exception:  # any failure: again
                time.sleep(0.1)
        if word == "release":
            lock.release()
        print("ok", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", default="zkl,bare,kazoo")
    parser.add_argument("--outages", default="0.5,3", help="seconds, with commas")
    parser.add_argument("--kinds", default="refused,silent")
    parser.add_argument("--rows", default="", help="words of the rows' names, with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2, help="of each row at once")
    parser.add_argument("--at-once", type=int, default=4, help="so many rows")
    parser.add_argument("--within", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--kazoo", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kazoo:
        return play_kazoo(options.kazoo)
    if options.within:
        return within(options)
    if os.geteuid() != 0:
        sys.exit("lists.py: networks of its own need root")
    if subprocess.run([sys.executable, "-c", "import kazoo"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("without kazoo, which is not installed (python3-kazoo)")
        options.libraries = options.libraries.replace(",kazoo", "")
    inner = [str(BUILD / "tests/support/zkl-server"), "--", sys.executable, "-B", __file__, "--within"]
    for key in ("libraries", "outages", "kinds", "rows", "rounds", "processes", "at_once"):
        inner += ["--" + key.replace("_", "-"), str(getattr(options, key))]
    os.execvp("unshare", ["unshare", "-n", "-m", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] + inner)


sys.exit(main())
