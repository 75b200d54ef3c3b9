"""The programs that are measured: what they are built from, and talking with them."""
import json
import os
import select
import shutil
import subprocess
import time

import servers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.environ.get("ZKL_BUILD", os.path.join(ROOT, "_build", "gcc"))  # of the project
OUT = os.path.join(ROOT, "_build", "bench")  # of the peers
JAVA = "/usr/share/java/"
JARS = [
    "curator-recipes",
    "curator-framework",
    "curator-client",
    "zookeeper",
    "zookeeper-jute",
    "guava",
    "slf4j-api",
    "slf4j-nop",
]
CLASSES = ":".join([OUT] + [JAVA + jar + ".jar" for jar in JARS])


def c_program(name, *flags):
    sources = [os.path.join(HERE, f) for f in ("peers/%s.c" % name, "loop.c", "common.c")]
    return (
        ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-o", OUT + "/" + name]
        + sources
        + list(flags)
    )


class Subject:
    """needs: what must be there; make: builds it; packages: whose versions count."""

    def __init__(self, name, server, run, make=None, needs=(), packages=(), environment=None):
        self.name, self.server, self.run, self.make = name, server, run, make
        self.needs, self.packages, self.environment = list(needs), list(packages), environment or {}
        self.made = make is None

    def missing(self):
        return [n for n in self.needs + self.server.needs if not servers.found(n)]

    def build(self):
        if not self.made:
            os.makedirs(OUT, exist_ok=True)
            subprocess.run(self.make, check=True, env=dict(os.environ, **self.environment))
            self.made = True

    def command(self, crowded):
        """More JVMs than processors would compile through the whole round."""
        few = ["-XX:TieredStopAtLevel=1"] if self.run[0] == "java" and crowded else []
        return self.run[:1] + few + self.run[1:]


def ours(name, program=None, *options):
    """A program of this folder, of the same name unless it is told apart by options."""
    return Subject(name, servers.ZooKeeper, ["%s/bench/%s" % (BUILD, program or name)] + [*options])


def on(server, name, program):
    subject = ours(name, program)
    subject.server = server
    return subject


BARE, ZKL, LEAST = ours("loop-bare"), ours("loop-zkl"), ours("loop-least")


def curator(*options):
    return Subject(
        "Curator",
        servers.ZooKeeper,
        ["java", "-XX:+UseSerialGC", "-Xmx256m", "-cp", CLASSES, "Curator", *options],
        ["javac", "-d", OUT, "-cp", CLASSES, HERE + "/peers/Curator.java"],
        ["javac", JAVA + "curator-recipes.jar"],
        ["libcurator-recipes-java", "default-jre-headless"],
    )


SEVERAL, READERS, PERMITS = "paths=4", "shared=1", 8
WORKERS = [ours("workers=default", "loop-zkl")] + [
    on(servers.zookeeper_with(n), "workers=%d" % n, "loop-zkl") for n in (0, 1, 16)
]
CURATOR = curator()
KAZOO = Subject(
    "kazoo",
    servers.ZooKeeper,
    ["/usr/bin/python3", HERE + "/peers/kazoo_lock.py"],
    needs=["/usr/lib/python3/dist-packages/kazoo/client.py"],
    packages=["python3-kazoo"],
)
CURATORS = {kind: curator(kind) for kind in (SEVERAL, READERS, "permits=%d" % PERMITS)}
PEERS = [
    CURATOR,
    KAZOO,
    Subject(
        "etcd",
        servers.Etcd,
        [OUT + "/etcd"],
        ["go", "build", "-o", OUT + "/etcd", HERE + "/peers/etcd.go"],
        ["go", "/usr/share/gocode/src/go.etcd.io/etcd/clientv3/concurrency/mutex.go"],
        ["etcd-server", "golang-etcd-server-dev", "golang-go"],
        {
            "GO111MODULE": "off",
            "GOPATH": "/usr/share/gocode",
            "GOFLAGS": "",
            "GOCACHE": OUT + "/go",
        },
    ),
    Subject(
        "Redis",
        servers.Redis,
        [OUT + "/redis"],
        c_program("redis", "-lhiredis"),
        ["gcc", "/usr/include/hiredis/hiredis.h"],
        ["redis-server", "libhiredis-dev"],
    ),
    Subject(
        "PostgreSQL",
        servers.Postgres,
        [OUT + "/postgres"],
        c_program("postgres", "-I/usr/include/postgresql", "-lpq"),
        ["gcc", "/usr/include/postgresql/libpq-fe.h"],
        ["postgresql-15", "libpq-dev"],
    ),
]


def of_fleet(name, how, role, *options):
    """name: "zkl", "kazoo" or "Curator"; how: what its row says of it."""
    like = {"zkl": ZKL, "kazoo": KAZOO, "Curator": CURATOR}[name]
    run, make = {
        "zkl": (ours("fleet-zkl").run + ["quiet=1"], None),
        "kazoo": (KAZOO.run[:1] + [HERE + "/peers/kazoo_fleet.py"], None),
        "Curator": (
            ["java", "-XX:+UseSerialGC", "-Xmx64m", "-Xss256k", "-cp", CLASSES, "CuratorFleet"],
            CURATOR.make[:-1] + [HERE + "/peers/CuratorFleet.java"],
        ),
    }[name]
    subject = Subject(
        name + how, servers.an_ensemble(), run + list(options), make, like.needs, like.packages
    )
    subject.role = role
    return subject


class Worker:
    """One process of a subject."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.name, self.rest = os.path.basename(command[0]), b""

    def line(self, seconds):
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[
                0
            ]:
                raise RuntimeError("%s: no answer in %d s" % (self.name, seconds))
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise RuntimeError("%s ended with status %d" % (self.name, self.process.wait()))
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def expect(self, word, seconds):
        line = self.line(seconds)
        if line != word:
            raise RuntimeError("%s said %s, not %s" % (self.name, line, word))

    def tell(self, order=b"GO"):
        self.process.stdin.write(order + b"\n")
        self.process.stdin.flush()

    def answer(self, seconds):
        return json.loads(self.line(seconds))

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def versions(packages):
    """Those of Debian's packages, where there are any."""
    if not shutil.which("dpkg-query"):
        return {}
    out = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Status}\n"]
        + sorted(packages),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    ).stdout.decode()
    return {
        w[0]: w[1] for w in map(str.split, out.splitlines()) if len(w) == 3 and w[2] == "installed"
    }
