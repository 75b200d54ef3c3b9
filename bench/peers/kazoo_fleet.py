"""kazoo's clients as one process of a fleet; the protocol is that of bench/fleet_zkl.c. Roles: idle,
holder, waiter."""
import collections
import json
import logging
import resource
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState


class One:
    """One session."""

    lost = 0

    def __init__(self, address, timeout_s):
        self.id, self.connected_ns = None, 0
        self.client = KazooClient(hosts=address, timeout=timeout_s)
        self.client.add_listener(self.hear)
        self.client.start(timeout=180)

    def hear(self, state):
        connected = state == KazooState.CONNECTED
        if connected:
            id_now = self.client.client_id[0]
            One.lost += self.id not in (None, id_now)
            self.id = id_now
        self.connected_ns = time.monotonic_ns() if connected else 0

    def contend(self, path, granted):
        """Until it is granted, whatever fails before that."""
        while True:
            try:
                if self.client.Lock(path).acquire():
                    granted.release()
                    return
            except Exception:
                time.sleep(0.1)


def answer(fleet, since_ns):
    back = [one.connected_ns - since_ns for one in fleet if one.connected_ns > since_ns]
    r = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "connected": len(back),
                "lost": One.lost,
                "cpu_us": (r.ru_utime + r.ru_stime) * 1e6,
                "back": collections.Counter(back),
                "longest_ns": max(back, default=0),
            }
        ),
        flush=True,
    )


def main():
    logging.disable()
    options = dict(a.split("=", 1) for a in sys.argv[1:])
    count, first = int(options["sessions"]), int(options["first"])
    fleet = [One(options["address"], int(options["timeout"]) / 1000) for _ in range(count)]
    granted = threading.Semaphore(0)
    role, locks = options["role"], int(options.get("locks", 1))
    for i, one in enumerate(fleet if role != "idle" else []):
        numbers = range((first + i) * locks, (first + i + 1) * locks)
        for number in numbers if role == "holder" else [first // count]:
            path = "%s-%d" % (options["lock"], number)
            threading.Thread(target=one.contend, args=(path, granted), daemon=True).start()
    for _ in range(count * locks if role == "holder" else 0):
        granted.acquire()
    print("READY", flush=True)
    for line in sys.stdin:
        answer(fleet, int(line))


main()
