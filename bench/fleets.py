"""Fleets: many sessions of many processes on an ensemble of three. What they cost the servers while
nothing happens, and what comes when all servers were away."""
import contextlib
import threading
import time

import figures
from groups import Group
from subjects import Worker, of_fleet

ROLES = {
    "idle": "open",
    "holder": "each holds a lock",
    "waiter": "all wait",
    "member": "members of a group",
    "barrier": "in double barriers",
}


class Fleet(Group):
    """sessions in so many processes; what waits has a holder in one process more."""

    LIMIT_S = 600
    WARM_S = 70  # for a minute who has come counts as busy

    def __init__(self, name, subjects, sessions, processes, timeout_ms):
        super().__init__(name, subjects, processes)
        self.sessions = sessions // processes * processes
        self.timeout_ms = timeout_ms

    def worker(self, subject, server, role, sessions, first, *more):
        options = {
            "address": server.address,
            "lock": "/bench/fleet",
            "role": role,
            "sessions": sessions,
            "first": first,
            "timeout": self.timeout_ms,
        }
        words = ["%s=%s" % option for option in options.items()]
        return Worker(subject.command(True) + words + list(more))

    def start(self, subject, server):
        self.servers[subject], self.workers[subject] = server, []
        each = self.sessions // self.processes
        holder = []
        if subject.role == "waiter":
            holder = [self.worker(subject, server, "holder", 1, 0, "locks=%d" % self.processes)]
            self.workers[subject] += holder
            holder[0].expect("READY", self.LIMIT_S)
        for i in range(self.processes):
            self.workers[subject].append(self.worker(subject, server, subject.role, each, i * each))
        for worker in self.workers[subject][len(holder) :]:
            worker.expect("READY", self.LIMIT_S)
        self.settle(subject, server)

    def settle(self, subject, server):
        """Until all that wait have their nodes."""
        until = time.monotonic() + self.LIMIT_S
        wanted = self.sessions + self.processes if subject.role == "waiter" else 0
        while server.counters().get("zk_ephemerals_count", 0) < wanted:
            if time.monotonic() > until:
                raise RuntimeError("%s, %s: not all wait" % (self.name, subject.name))
            time.sleep(0.5)

    def answers(self, subject, since_ns=0):
        for worker in self.workers[subject]:
            worker.tell(b"%d" % since_ns)
        return [worker.answer(self.LIMIT_S) for worker in self.workers[subject]]


class Idle(Fleet):
    """Each role on an ensemble of its own, all at once."""

    def __init__(self, sessions, processes, timeout_ms, seconds):
        subjects = [of_fleet("zkl", ", " + how, role) for role, how in ROLES.items()]
        subjects.append(of_fleet("zkl", ", each holds a lock, tick_ms given", "holder", "tick=2000"))
        subjects += [of_fleet(p, ", " + ROLES["waiter"], "waiter") for p in ("kazoo", "Curator")]
        super().__init__(
            "idle of %d at %g s" % (sessions, timeout_ms / 1e3), subjects, sessions, processes, timeout_ms
        )
        self.seconds = seconds

    def look(self, subject):
        server = self.servers[subject]
        return {
            "s": time.monotonic(),
            "zxid": server.zxid(),
            "log": server.log_bytes(),
            "counters": server.counters(),
        }

    def measure(self, rounds, pool, report):
        samples = {}
        with contextlib.closing(self):
            for subject in self.subjects:
                self.attempt(subject, lambda s: self.start(s, pool.get(s.server)))
                report(".")
            there = [s for s in self.subjects if s.name not in self.left_out]
            time.sleep(self.WARM_S)
            before = {s: self.look(s) for s in there}
            time.sleep(self.seconds)
            for s in there:
                resident = [a["resident"] for a in self.answers(s) if "resident" in a]
                samples[s.name] = [
                    figures.idle_sample(before[s], self.look(s), self.sessions, resident)
                ]
        return samples


class Knocks(threading.Thread):
    """Connections that this network's processes have tried to open, each second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.seen = [self.now()]
        self.start()

    @staticmethod
    def now():
        with open("/proc/self/net/snmp") as f:
            keys, values = [line.split() for line in f if line.startswith("Tcp:")]
        return int(values[keys.index("ActiveOpens")])

    def run(self):
        while not self.ended.wait(1):
            self.seen.append(self.now())

    def most(self):
        self.ended.set()
        self.join()
        return max((b - a for a, b in zip(self.seen, self.seen[1:])), default=0)


class Storm(Fleet):
    """All servers are killed, and launched again after a while. Attempts to connect are what this network
    has counted, less our own questions and what the servers open to each other, taken to be as at their
    first launch."""

    most = 3

    def __init__(self, sessions, processes, timeout_ms, role, outage_s):
        super().__init__(
            "storm of %d, %s, %g s" % (sessions, ROLES[role], outage_s),
            [of_fleet(library, "", role) for library in ("zkl", "kazoo", "Curator")],
            sessions,
            processes,
            timeout_ms,
        )
        self.outage_s = outage_s

    def measure(self, rounds, pool, report):
        """One after the other, as each would disturb the others."""
        samples = {subject.name: [] for subject in self.subjects}
        there = [s for s in self.subjects if s.name not in self.left_out]
        for subject in there:
            with contextlib.ExitStack() as stack:
                opened, server = Knocks.now(), subject.server()
                stack.callback(server.stop)
                stack.callback(self.workers.clear)
                stack.callback(self.close)
                self.own = Knocks.now() - opened - server.asked()
                self.attempt(subject, lambda s: self.start(s, server))
                time.sleep(self.WARM_S)
                for _ in range(min(rounds, self.most)):
                    samples[subject.name].append(self.attempt(subject, self.play))
                    report(".")
        return {name: got for name, got in samples.items() if name not in self.left_out}

    @staticmethod
    def knocks(server):
        return Knocks.now() - server.asked()

    def play(self, subject):
        server, before = self.servers[subject], self.answers(subject)
        began, watch = self.knocks(server), Knocks()
        server.kill()
        time.sleep(self.outage_s)
        away = self.knocks(server)
        launched_ns, until = time.monotonic_ns(), time.monotonic() + self.LIMIT_S
        server.launch()
        while not server.serves():
            if time.monotonic() > until:
                raise RuntimeError("%s: the servers do not come back" % self.name)
            time.sleep(0.05)
        serves_ns = time.monotonic_ns()
        back = -1
        while back < figures.total(before, "connected") and time.monotonic() < until:
            time.sleep(0.2)
            after = self.answers(subject, launched_ns)
            back = figures.total(after, "connected")
        sample = figures.storm_sample(before, after, serves_ns - launched_ns, server.counters())
        sample["away"] = (away - began) / self.outage_s
        sample["knocks"] = self.knocks(server) - self.own - began
        sample["most"] = watch.most()
        return sample
