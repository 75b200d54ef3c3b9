"""kazoo's Lock in the loop of bench/loop.c; the protocol is that of bench/common.h."""
import fcntl
import json
import resource
import sys
import time

from kazoo.client import KazooClient


def bucket(ns):
    shift = max(0, ns.bit_length() - 6)
    return ns >> shift << shift


def usage():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return (r.ru_utime + r.ru_stime) * 1e6, r.ru_nvcsw + r.ru_nivcsw


def enter(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return 0
    except BlockingIOError:
        return 1


def play(lock, file, stay_s, window_ns):
    ops, violations, longest, waits = 0, 0, 0, {}
    cpu, switches = usage()
    begin = asked = time.monotonic_ns()
    while asked < begin + window_ns:
        lock.acquire()
        held = time.monotonic_ns()
        if file:
            violations += enter(file)
        waits[bucket(held - asked)] = waits.get(bucket(held - asked), 0) + 1
        longest = max(longest, held - asked)
        ops += held < begin + window_ns
        if stay_s:
            time.sleep(stay_s)
        if file:
            fcntl.flock(file, fcntl.LOCK_UN)
        lock.release()
        asked = time.monotonic_ns()
    cpu_end, switches_end = usage()
    print(
        json.dumps(
            {
                "ops": ops,
                "seconds": (asked - begin) * 1e-9,
                "cpu_us": cpu_end - cpu,
                "switches": switches_end - switches,
                "violations": violations,
                "waits": waits,
                "longest_ns": longest,
            }
        ),
        flush=True,
    )


def main():
    options = dict(a.split("=", 1) for a in sys.argv[1:])
    client = KazooClient(hosts=options["address"], timeout=30)
    client.start()
    lock = client.Lock(options["lock"])
    file = open(options["inside"], "a", encoding="ascii") if "inside" in options else None
    lock.acquire()
    lock.release()
    print("READY", flush=True)
    for order in sys.stdin:
        play(lock, file, 0.001 if order == "STAY\n" else 0, int(options["ms"]) * 1000000)


main()
