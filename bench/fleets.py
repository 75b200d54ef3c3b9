"""Fleets: many sessions of many processes on an ensemble of three: what they cost the servers
while nothing happens."""
import contextlib
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

    WARM_S = 70  # for a minute who has come counts as busy

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
