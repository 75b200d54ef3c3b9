"""A thread that takes the lock, increments under it and gives it back, again and again."""

import fcntl
import os
import random
import sys
import threading
import time

from kazoo.exceptions import LockTimeout

LONGER = 50  # with permits, so that several are had at once
AFTER_ERROR_S = 0.02
PATIENCE_S = 0.05


def progress():
    """A file of the watchdog around the test (tests/support/progress.h)."""
    return os.environ.get("ZKL_PROGRESS", "")


def step():
    if os.path.exists(progress()):
        with open(progress(), "ab") as file:
            file.write(b".")


class Counter:
    """What the lock protects: a file with a token and a number, and the history of who was at it."""

    def __init__(self, file, history, kind, fenced):
        self.file = os.open(file, os.O_RDWR)
        self.history = os.open(history, os.O_WRONLY | os.O_APPEND)
        self.kind = kind
        self.fenced = fenced

    def access(self, token, number=None):
        """Reads, or writes number. One access is one step; between two of them only the lock
        stands."""
        fcntl.lockf(self.file, fcntl.LOCK_EX)
        try:
            last, now = map(int, os.pread(self.file, 64, 0).split()[:2])  # its own turn is 0
            if self.fenced and last > token:
                raise PermissionError("refused: %d has been here, %d is stale" % (last, token))
            if number is None:
                number = now
            os.pwrite(self.file, b"%020d %020d %020d\n" % (token, number, 0), 0)
            return number
        finally:
            fcntl.lockf(self.file, fcntl.LOCK_UN)

    def record(self, at, word, token, number):
        line = "%d 0 %d %s %d %d 0 %s\n" % (at, os.getpid(), word, number, token, self.kind)
        os.write(self.history, line.encode())

    def close(self):
        os.close(self.file)
        os.close(self.history)


class Contend(threading.Thread):
    def __init__(self, locks, path, kind, counter, history, seconds, least, fenced):
        super().__init__(daemon=True)
        self.locks = locks
        self.path = path
        self.kind = kind
        self.counter = Counter(counter, history, kind, fenced == "1")
        self.end = time.monotonic_ns() + int(seconds) * 10**9
        self.least = int(least)
        self.told = False
        self.grants = 0
        self.errors = 0

    def run(self):
        while not self.told and self.goes_on(time.monotonic_ns()):
            try:
                self.turn()
                if self.goes_on(time.monotonic_ns()) and self.least > 0:
                    step()
                self.grants += 1
            except Exception as e:  # the next turn may do better
                self.errors += 1
                print("%s: %r" % (self.kind, e), file=sys.stderr)
                time.sleep(AFTER_ERROR_S)

    def goes_on(self, now):
        return now < self.end or (self.grants < self.least and not os.path.exists(progress() + ".late"))

    def take(self):
        """kazoo's readers wait for writers behind them, too, up to 2.8, which may wait for them: so
        they give up soon, and come again."""
        while True:
            lock = self.locks.make(self.path, self.kind)
            try:
                if lock.acquire(timeout=PATIENCE_S if self.kind.endswith("-read") else None):
                    return lock
            except LockTimeout:
                time.sleep(random.uniform(0, PATIENCE_S))

    def turn(self):
        lock = self.take()
        try:
            self.use(self.locks.token(lock))
        finally:
            lock.release()

    def use(self, token):
        """A reader looks twice, and must see the same."""
        begin = time.monotonic_ns()
        number = self.counter.access(token)
        self.counter.record(begin, "begin", token, number)
        permits = "-permit" in self.kind
        reads = self.kind.endswith("-read") or permits
        if reads or random.randrange(4) == 0:
            time.sleep((LONGER if permits else 1) * random.uniform(0.001, 0.005))
        number = self.counter.access(token, None if reads else number + 1)
        self.counter.record(time.monotonic_ns(), "read" if reads else "write", token, number)

    def result(self, now):
        """Its end, asked for or by itself."""
        self.told |= now
        self.join()
        self.counter.close()
        return "ok %d %d" % (self.grants, self.errors)
