"""What is measured. A group starts its subjects once, plays them in turn, round after round, and
gives for each subject one sample a round."""
import contextlib
import os
import subprocess
import time

import figures
import servers
from subjects import (
    BARE,
    CURATORS,
    LEAST,
    PEERS,
    PERMITS,
    READERS,
    SEVERAL,
    WORKERS,
    ZKL,
    Worker,
    ours,
)


class Group:
    """subjects: those to start; play(subject) gives the sample of one round."""

    warm = 1  # rounds that do not count
    most = 1000

    def __init__(self, name, subjects, processes=1, options=()):
        self.name, self.subjects = name, subjects
        self.processes, self.options = processes, list(options)
        self.workers, self.servers, self.left_out = {}, {}, {}

    def arguments(self, subject, server):
        return [
            "address=" + server.address,
            "lock=/bench/%s-%s" % (self.name.replace(" ", "-"), subject.name),
        ]

    def start(self, subject, server):
        """The bare loop is alone: it is the measure, and waits for nobody."""
        processes = 1 if subject is BARE else self.processes
        command = subject.command(processes > 2) + self.arguments(subject, server) + self.options
        self.servers[subject] = server
        self.workers[subject] = []
        for _ in range(processes):
            self.workers[subject].append(Worker(command))
        self.await_ready(subject)

    def await_ready(self, subject):
        for worker in self.workers[subject]:
            worker.expect("READY", 180)

    def close(self):
        for workers in self.workers.values():
            for worker in workers:
                worker.close()

    def attempt(self, subject, step):
        """A failure of ours ends the run; a peer that fails is left out, and said to be."""
        try:
            if subject.name not in self.left_out:
                return step(subject)
        except (RuntimeError, OSError, subprocess.SubprocessError) as e:
            if not subject.packages:  # none but peers have any
                raise
            self.left_out[subject.name] = str(e)
        return None

    def warm_up(self, subject):
        self.play(subject)

    def measure(self, rounds, pool, report):
        """Who begins changes from round to round."""
        samples = {subject.name: [] for subject in self.subjects}
        with contextlib.closing(self):
            for subject in self.subjects:
                self.attempt(subject, lambda s: self.start(s, pool.get(s.server)))
            for r in range(self.warm + min(rounds, self.most)):
                turn = r % len(self.subjects)
                for subject in self.subjects[turn:] + self.subjects[:turn]:
                    if r < self.warm:
                        self.attempt(subject, self.warm_up)
                    else:
                        samples[subject.name].append(self.attempt(subject, self.play))
                report(".")
        return {name: got for name, got in samples.items() if name not in self.left_out}


def counters(server):
    return server.counters() if isinstance(server, servers.ZooKeeper) else None


def beside(kind):
    return [ours("zkl", "loop-zkl", kind), CURATORS[kind]]


class Loop(Group):
    """Lock and unlock, by one process or by several on one lock."""

    holders = 1  # that may be there at once; 0: any number

    def __init__(self, name, processes, seconds):
        super().__init__(name, [BARE, ZKL, LEAST] + PEERS, processes, ["ms=%d" % (seconds * 1000)])
        self.seconds, self.met = seconds, {}

    def arguments(self, subject, server):
        """Each subject has a file of its own, in which holders prove that they are not too many."""
        more = []
        if self.processes > 1 and self.holders and subject is not BARE:
            file = self.name.replace(" ", "-") + "-" + subject.name
            more = ["inside=" + os.path.join(server.folder, file)]
            more += ["holders=%d" % self.holders] if self.holders > 1 else []
        return super().arguments(subject, server) + more

    def round(self, subject, order):
        for worker in self.workers[subject]:
            worker.tell(order)
        answers = [worker.answer(self.seconds + 120) for worker in self.workers[subject]]
        return figures.loop_sample(answers, self.seconds)

    def warm_up(self, subject):
        """Holders stay a while, so that they would meet if they could; then as it is measured."""
        self.met[subject] = self.round(subject, b"STAY")["violations"]
        self.round(subject, b"GO")

    def play(self, subject):
        server = self.servers[subject]
        before, sent = counters(server), server.bytes_sent()
        sample = self.round(subject, b"GO")
        sample["violations"] += self.met.pop(subject, 0)
        sample["bytes"] = (server.bytes_sent() - sent) / sample["turns"]
        sample.update(figures.server_cost(before, counters(server), sample["turns"]))
        return sample


class Several(Loop):
    """A lock at four paths, by one process or by several, and one path beside it."""

    def __init__(self, name, processes, seconds):
        super().__init__(name, processes, seconds)
        self.subjects = [ours("one-path", "loop-zkl")] + beside(SEVERAL)


class Readers(Loop):
    """A read-write lock that all read at once."""

    holders = 0

    def __init__(self, name, processes, seconds):
        super().__init__(name, processes, seconds)
        self.subjects = beside(READERS)


class Permits(Loop):
    """A semaphore of which each process takes one."""

    holders = PERMITS

    def __init__(self, name, processes, seconds):
        super().__init__(name, processes, seconds)
        self.subjects = beside("permits=%d" % PERMITS)


class Workers(Loop):
    """Processes with a lock each, which wait for the server alone, on servers with different numbers of
    threads."""

    holders = 0

    def __init__(self, processes, seconds):
        super().__init__("workers", processes, seconds)
        self.subjects = WORKERS

    def start(self, subject, server):
        self.servers[subject] = server
        self.workers[subject] = [
            Worker(subject.run + ["address=" + server.address, "lock=/bench/own-%d" % i] + self.options)
            for i in range(self.processes)
        ]
        self.await_ready(subject)


RETAIN = "retain=1000"  # ms: longer than any of its locks is idle


class Pair(Group):
    """Two processes in turn, with retention and without: what one keeps the other wants. Those that
    rest in between have it idle meanwhile."""

    REST = "rest=2000"  # us

    def __init__(self, name, seconds):
        super().__init__(
            name,
            [
                ours(how + rest, "retained-zkl", *more, *resting)
                for rest, resting in (("", []), (", resting", [self.REST]))
                for how, more in (("apart", []), ("retained", [RETAIN]))
            ],
            processes=2,
            options=["ms=%d" % (seconds * 1000)],
        )

    def arguments(self, subject, server):
        return [a.replace(", ", "-") for a in super().arguments(subject, server)]

    def play(self, subject):
        for worker in self.workers[subject]:
            worker.tell()
        return figures.pair_sample([worker.answer(120) for worker in self.workers[subject]])


class Retained(Group):
    """Threads that share a handle, with retention and without, and another session that wants what
    nobody uses; in the same rounds Redis, alone as the one thread is."""

    most = 5  # a thousand threads without retention wait for each other once more than the others
    THREADS = [1, 2, 8, 1000]

    def __init__(self, name, seconds):
        super().__init__(
            name,
            [self.threads(n, more) for n in self.THREADS for more in ([RETAIN], [])]
            + [ours("rival", "retained-zkl", RETAIN, "rival=1")]
            + [peer for peer in PEERS if peer.name == "Redis"],
            options=["ms=%d" % (seconds * 1000)],
        )

    @staticmethod
    def threads(n, more):
        name = "%d %s" % (n, "retained" if more else "apart")
        return ours(name, "retained-zkl", "threads=%d" % n, *more)

    def arguments(self, subject, server):
        return [a.replace(" ", "-") for a in super().arguments(subject, server)]

    def play(self, subject):
        server, worker = self.servers[subject], self.workers[subject][0]
        before = counters(server)
        worker.tell()
        return figures.handle_sample(worker.answer(180), before, counters(server))


class Many(Group):
    """1,000 locks of one session; without locks, as many pairs in flight; and reads, which show
    what the server takes from a connection."""

    def __init__(self, seconds):
        super().__init__(
            "1000 locks",
            [
                ours("many-bare"),
                ours("many-zkl"),
                ours("many-list", "many-bare", "list=1"),
                ours("reads-1", "reads-bare"),
                ours("reads-2", "reads-bare", "connections=2"),
            ],
            options=["ms=%d" % (seconds * 1000), "window=256", "locks=1000"],
        )

    def play(self, subject):
        before, worker = counters(self.servers[subject]), self.workers[subject][0]
        worker.tell()
        answer = worker.answer(120)
        ops = answer["ops"]
        return dict(
            figures.server_cost(before, counters(self.servers[subject]), ops),
            rate=ops / answer["seconds"],
            cpu_us=answer["cpu_us"] / ops,
            switches=answer["switches"] / ops,
        )


class Crowd(Group):
    """Waiters on one lock, who queue up and are then let through."""

    warm = 0
    most = 5  # long ones
    LIMIT_S = 300
    SESSION = 5000  # the paths watched in one, 96 bytes each, stay below 512 KiB

    def __init__(self, waiters):
        super().__init__(
            "crowd of %d" % waiters,
            [
                ours("crowd-bare"),
                ours("crowd-zkl"),
                ours("crowd-proof", "crowd-bare", "proof=1"),
                ours("crowd-mark", "crowd-bare", "mark=1"),
            ],
            options=["waiters=%d" % waiters, "sessions=%d" % -(-waiters // self.SESSION)],
        )
        self.waiters = waiters

    def settle(self, server, worker):
        """Until all nodes stand and the server has had nothing more to answer for a while."""
        until, seen = time.monotonic() + self.LIMIT_S, -1.0
        while time.monotonic() < until and worker.process.poll() is None:
            now = server.counters()
            received = now["zk_packets_received"]
            if now["zk_ephemerals_count"] > self.waiters and received - seen <= 2:
                return
            seen = received
            time.sleep(0.2)
        raise RuntimeError("%s: they had not queued up in %d s" % (self.name, self.LIMIT_S))

    def play(self, subject):
        server, worker = self.servers[subject], self.workers[subject][0]
        asked, sent = time.monotonic(), server.bytes_sent()
        worker.tell()
        worker.expect("QUEUED", self.LIMIT_S)
        self.settle(server, worker)
        queueing = {
            "queue_s": time.monotonic() - asked,
            "queue_bytes": (server.bytes_sent() - sent) / self.waiters,
        }
        before, sent = server.counters(), server.bytes_sent()
        worker.tell()
        answer = worker.answer(self.LIMIT_S)
        cost = figures.server_cost(before, server.counters(), self.waiters)
        sample = figures.crowd_sample(answer, server.bytes_sent() - sent, cost)
        self.await_ready(subject)
        return dict(sample, **queueing)


class Members(Group):
    """A group that all join at once, and what one observer of it costs."""

    warm = 0
    most = 3  # long ones
    SESSION = 5000  # as of a crowd

    def __init__(self, members):
        super().__init__(
            "group of %d" % members,
            [
                ours("members-bare"),
                ours("members-read", "members-bare", "read=1"),
                ours("members-zkl"),
            ],
            options=["members=%d" % members, "sessions=%d" % -(-members // self.SESSION)],
        )

    def play(self, subject):
        worker = self.workers[subject][0]
        worker.tell()
        return worker.answer(300)


class Local(Group):
    """What asks no server, by one program."""

    def __init__(self, name, program):
        super().__init__(name, [ours(program)])

    def play(self, subject):
        worker = self.workers[subject][0]
        worker.tell()
        return worker.answer(120)
