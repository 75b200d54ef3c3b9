"""Private servers on 127.0.0.1: a free port, a temporary folder, ended by their process ids, and
with this process however it ends."""
import contextlib
import glob
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HOST = "127.0.0.1"


def free_port():
    with socket.socket() as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


LOW = itertools.count(20000)


def low_port():
    """One that the system gives to no client: those that try again and again would have it when the
    server comes back."""
    for port in LOW:
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind((HOST, port))
            return port


def converse(port, request):
    """Sends request and reads until the other side closes, or has said a line."""
    with socket.create_connection((HOST, port), 5) as s:
        s.sendall(request)
        return b"".join(iter(lambda: s.recv(65536), b"")).decode(errors="replace")


class Server:
    """Made on first use; stop() ends it. A kind says how it is started and when it serves."""

    user = None  # whom it runs as, when we are root

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="zkl-bench-%s-" % self.name)
        self.port = self.choose_port()
        self.address = "%s:%d" % (HOST, self.port)
        self.process = None
        self.begin()

    choose_port = staticmethod(free_port)

    def begin(self):
        try:
            self.prepare()
            self.launch()
            self.wait()
        except BaseException:
            self.stop()
            raise

    def prepare(self):
        pass

    def as_user(self):
        return (
            {"user": self.user, "group": self.user, "extra_groups": []}
            if self.user and os.getuid() == 0
            else {}
        )

    def launch(self):
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL"] + self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **self.as_user()
            )

    def wait(self):
        until = time.monotonic() + 60
        while not self.serves():
            if self.process.poll() is not None or time.monotonic() > until:
                with open(os.path.join(self.folder, "log"), errors="replace") as log:
                    raise RuntimeError("%s did not start: %s" % (self.name, log.read()[-400:]))
            time.sleep(0.1)

    def serves(self):
        try:
            return self.proof in converse(self.port, self.question)
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.send_signal(self.farewell)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    farewell = signal.SIGTERM

    def bytes_sent(self):
        """What it has sent on the connections that are open now, as TCP counts."""
        out = subprocess.run(
            ["ss", "-tniHO", "state", "established", "sport = :%d" % self.port],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        return sum(int(n) for n in re.findall(rb"bytes_sent:(\d+)", out))


class ZooKeeper(Server):
    name = "zookeeper"
    needs = ["java", "/usr/share/java/zookeeper.jar"]
    question, proof = b"srvr", "Mode: standalone"
    sync = True
    jvm = ()  # more options of java
    settings = ""  # more lines of zoo.cfg

    def prepare(self):
        with open(os.path.join(self.folder, "zoo.cfg"), "w") as f:
            f.write(
                "dataDir=%s/data\nclientPort=%d\nclientPortAddress=%s\n"
                "tickTime=2000\nmaxClientCnxns=0\n"
                "admin.enableServer=false\n4lw.commands.whitelist=*\n%s"
                % (self.folder, self.port, HOST, self.settings)
            )

    def command(self):
        return [
            "java",
            "-Xms512m",
            "-Xmx1g",
            "-Dzookeeper.forceSync=%s" % ("yes" if self.sync else "no"),
            *self.jvm,
            "-cp",
            "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            self.folder + "/zoo.cfg",
        ]

    def counters(self):
        return self.read(converse(self.port, b"mntr"))

    @staticmethod
    def read(text):
        lines = (line.split("\t") for line in text.splitlines())
        return {
            words[0]: float(words[1])
            for words in lines
            if len(words) == 2 and re.fullmatch(r"-?[0-9.]+(E-?[0-9]+)?", words[1])
        }


def zookeeper_with(workers):
    """A server of its own, with so many threads that read and write the connections."""
    option = "-Dzookeeper.nio.numWorkerThreads=%d" % workers
    return type("ZooKeeperWorkers", (ZooKeeper,), {"jvm": (option,)})


class Member(ZooKeeper):
    """One server of an ensemble, which begins it."""

    name, proof = "member", "Mode: "  # leader or follower
    choose_port = staticmethod(low_port)
    counted, asked = 0, 0  # our questions: those that it counts as packets, and all

    def begin(self):
        self.own = "%s:%d:%d" % (HOST, low_port(), low_port())

    def join(self, number, settings):
        self.settings = settings
        os.mkdir(self.folder + "/data")
        with open(self.folder + "/data/myid", "w") as f:
            f.write("%d\n" % number)
        self.prepare()

    def ask(self, word):
        """Its answer; "": it does not serve."""
        self.asked += 1
        with contextlib.suppress(OSError):
            answer = converse(self.port, word)
            if "\n" in answer.strip():
                self.counted += 1
                return answer
        return ""

    def serves(self):
        return self.proof in self.ask(self.question)

    def counters(self):
        """Without our questions; {}: it does not serve."""
        found = self.read(self.ask(b"mntr"))
        if found:
            found["zk_packets_received"] -= self.counted
            found["zk_num_alive_connections"] -= 1
        return found

    def zxid(self):
        found = re.search(r"^Zxid: 0x([0-9a-f]+)$", self.ask(self.question), re.M)
        return int(found[1], 16) if found else 0

    def log_bytes(self):
        """Without the zeros that are written ahead."""
        total = 0
        for name in glob.glob(self.folder + "/data/version-2/log.*"):
            with open(name, "rb") as f:
                total += len(f.read().rstrip(b"\0"))
        return total

    def kill(self):
        self.process.kill()
        self.process.wait()


class Ensemble:
    """Three servers, which can be killed and launched again on the same ports and data."""

    needs, settings = ZooKeeper.needs, ""
    EACH = ("zk_znode_count", "zk_ephemerals_count", "zk_approximate_data_size")

    def __init__(self):
        self.members = [Member() for _ in range(3)]
        self.address = ",".join(m.address for m in self.members)
        all_own = "".join("server.%d=%s\n" % (i, m.own) for i, m in enumerate(self.members, 1))
        try:
            for i, m in enumerate(self.members, 1):
                m.join(i, all_own + "initLimit=10\nsyncLimit=5\n" + self.settings)
            self.launch()
            for m in self.members:
                m.wait()
        except BaseException:
            self.stop()
            raise

    def launch(self):
        for m in self.members:
            m.counted = 0
            m.launch()

    def kill(self):
        for m in self.members:
            m.kill()

    def stop(self):
        for m in self.members:
            m.stop()

    def serves(self):
        return any(m.serves() for m in self.members)

    def asked(self):
        return sum(m.asked for m in self.members)

    def counters(self):
        """Sums, as each connection is one server's; of what all servers have alike (EACH) the most."""
        total = {}
        for m in self.members:
            for key, value in m.counters().items():
                so_far = total.get(key, 0)
                total[key] = max(so_far, value) if key in self.EACH else so_far + value
        return total

    def zxid(self):
        return max(m.zxid() for m in self.members)

    def log_bytes(self):
        return self.members[0].log_bytes()


def an_ensemble():
    """A kind of its own, so that nobody else has it."""
    return type("EnsembleOfOne", (Ensemble,), {})


class Etcd(Server):
    name = "etcd"
    needs = ["etcd"]
    question, proof = b"GET /health HTTP/1.0\r\n\r\n", "true"

    def command(self):
        url, peer = "http://" + self.address, "http://%s:%d" % (HOST, free_port())
        return [
            "etcd",
            "--name",
            "n",
            "--data-dir",
            self.folder + "/data",
            "--listen-client-urls",
            url,
            "--advertise-client-urls",
            url,
            "--listen-peer-urls",
            peer,
            "--initial-advertise-peer-urls",
            peer,
            "--initial-cluster",
            "n=" + peer,
        ]


class Redis(Server):
    name = "redis"
    needs = ["redis-server"]
    question, proof = b"PING\r\nQUIT\r\n", "PONG"

    def command(self):
        return [
            "redis-server",
            "--bind",
            HOST,
            "--port",
            str(self.port),
            "--dir",
            self.folder,
            "--save",
            "",
            "--appendonly",
            "no",
            "--daemonize",
            "no",
        ]


class Postgres(Server):
    name = "postgres"
    user = "postgres"  # it refuses to run as root
    needs = ["/usr/lib/postgresql/*/bin/initdb"]
    farewell = signal.SIGINT

    def prepare(self):
        self.programs = os.path.dirname(sorted(glob.glob(self.needs[0]))[-1])
        if self.as_user():
            shutil.chown(self.folder, self.user)
        subprocess.run(
            [
                self.programs + "/initdb",
                "-D",
                self.folder + "/data",
                "-U",
                "postgres",
                "-A",
                "trust",
            ],
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            check=True,
            **self.as_user()
        )

    def command(self):
        return [
            self.programs + "/postgres",
            "-D",
            self.folder + "/data",
            "-p",
            str(self.port),
            "-c",
            "listen_addresses=" + HOST,
            "-c",
            "unix_socket_directories=",
        ]

    def serves(self):
        return (
            subprocess.run(
                [self.programs + "/pg_isready", "-q", "-h", HOST, "-p", str(self.port)], check=False
            ).returncode
            == 0
        )


def found(need):
    """A program in the path, or a file."""
    return shutil.which(need) or (glob.glob(need) if need.startswith("/") else None)


class Servers:
    """Those that the rows need, each started when it is first asked for."""

    def __init__(self):
        self.running = {}

    def get(self, kind):
        if kind not in self.running:
            self.running[kind] = kind()
        return self.running[kind]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.running.values():
            server.stop()
