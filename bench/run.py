#!/usr/bin/python3
"""The benchmark: everything beside everything, in turns, on private servers (`./dev bench`)."""
import argparse
import os
import pickle
import re
import signal
import subprocess
import sys
import time

import conditions
import curves
import fleets
import groups
import rows
import servers
import subjects
import table
import tool


def numbers(text):
    return [int(n) for n in text.split(",")]


def arguments():
    p = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    p.add_argument(
        "--rounds",
        type=int,
        default=9,
        help="that count; medians are taken of them (9); no more than 5 for crowds",
    )
    p.add_argument("--seconds", type=float, default=1, help="of one round of one program (1)")
    p.add_argument(
        "--only",
        metavar="PATTERN",
        default="",
        help="of the groups uncontended, N processes, four paths by N, readers by N, semaphore by N, "
        "workers, 1000 locks, retained, retained by two, crowd of N, group of N, local, counting, tool, "
        "idle of N at S s, storm of N, ROLE, S s: those that match; the results go to _build/bench",
    )
    p.add_argument("--processes", type=numbers, default=[2, 8, 32], metavar="N,…")
    p.add_argument(
        "--crowds", type=numbers, default=[100, 1000, 10000], metavar="N,…", help="waiters"
    )
    p.add_argument(
        "--members", type=numbers, default=[1000], metavar="N,…", help="of a group"
    )
    p.add_argument(
        "--fleets", type=numbers, default=[100], metavar="N,…", help="sessions of a fleet (100)"
    )
    p.add_argument("--spread", type=int, default=10, metavar="N", help="processes of a fleet (10)")
    p.add_argument(
        "--timeouts", type=numbers, default=[10000], metavar="MS,…", help="of a fleet (10000)"
    )
    p.add_argument(
        "--outages", type=numbers, default=[10], metavar="S,…", help="of a storm (10)"
    )
    p.add_argument(
        "--settings", default="", metavar="NAME=VALUE,…", help="of zoo.cfg, for a fleet's servers"
    )
    p.add_argument(
        "--no-sync",
        action="store_true",
        help="ZooKeeper without fsync: processor time shows better",
    )
    p.add_argument("--again", action="store_true", help="table and plots of the last run again")
    return p.parse_args()


def plan(args):
    out = [groups.Loop("uncontended", 1, args.seconds)]
    out += [groups.Loop("%d processes" % n, n, args.seconds) for n in args.processes]
    out += [groups.Several("four paths by %d" % n, n, args.seconds) for n in (1, 2)]
    out += [groups.Readers("readers by %d" % n, n, args.seconds) for n in [1] + args.processes[1:]]
    out += [groups.Permits("semaphore by %d" % n, n, args.seconds) for n in args.processes[-1:]]
    out += (
        [groups.Workers(args.processes[-1], args.seconds)]
        + [groups.Many(args.seconds), groups.Retained("retained", args.seconds)]
        + [groups.Pair("retained by two", args.seconds)]
        + [groups.Crowd(n) for n in args.crowds]
        + [groups.Members(n) for n in args.members]
        + [groups.Local("local", "local-zkl"), groups.Local("counting", "counting-zkl")]
        + [tool.Tool()]
        + [
            fleets.Idle(n, args.spread, ms, 20 * args.seconds)
            for n in args.fleets
            for ms in args.timeouts
        ]
        + [
            fleets.Storm(n, args.spread, args.timeouts[0], role, s)
            for n in args.fleets
            for role in ("idle", "waiter")
            for s in args.outages
        ]
    )
    return [g for g in out if re.search(args.only, g.name)]


def build(group):
    """Peers whose packages are not there, or that cannot be built, are left out."""
    for subject in group.subjects:
        if subject.missing():
            group.left_out[subject.name] = "there is no " + ", ".join(subject.missing())
        else:
            group.attempt(subject, lambda s: s.build())


def all_rows(results):
    """In the order of the groups; what compares crowds comes after them."""
    out, crowds = [], {}
    for name, samples in results.items():
        size = int((re.findall(r"\d+", name) or ["1"])[0])
        if name == "uncontended" or name.endswith("processes"):
            out += rows.loop_rows(name, samples, size)
        elif name.startswith("four paths"):
            out += rows.several_rows(name, samples)
        elif name.startswith("readers"):
            out += rows.beside_rows(name, "InterProcessReadWriteLock", samples)
        elif name.startswith("semaphore"):
            title = name.replace("semaphore", "semaphore of %d" % subjects.PERMITS)
            out += rows.beside_rows(title, "InterProcessSemaphoreV2", samples)
        elif name.startswith("crowd"):
            crowds[size] = samples
            out += rows.crowd_rows(size, samples)
        elif name.startswith("group of"):
            out += rows.group_rows(size, samples)
        elif name.startswith("idle"):
            out += rows.idle_rows(name, samples)
        elif name.startswith("storm"):
            out += rows.outage_rows(name, samples)
        elif name == "workers":
            out += rows.workers_rows(name, samples)
        elif name == "1000 locks":
            out += rows.many_rows(samples)
        elif name == "retained":
            out += rows.retained_rows("retained", samples)
        elif name == "retained by two":
            out += rows.pair_rows("two processes in turn", samples)
    if crowds:
        out += rows.crowd_growth(crowds)
    if "local" in results:
        out += rows.local_rows(results["local"]["local-zkl"])
    if "counting" in results:
        out += rows.counting_rows(results["counting"]["counting-zkl"])
    if "tool" in results:
        out += rows.tool_rows(results["tool"])
    return out


def report(words):
    sys.stderr.write(words)
    sys.stderr.flush()


def measure(args):
    began, load = time.time(), os.getloadavg()[0]
    servers.ZooKeeper.sync = not args.no_sync
    servers.Ensemble.settings = args.settings.replace(",", "\n") + "\n"
    planned, results = plan(args), {}
    if not planned:
        sys.exit("there is no group that matches " + args.only)
    with servers.Servers() as pool:
        for group in planned:
            begun = time.monotonic()
            report("%-16s " % group.name)
            build(group)
            results[group.name] = group.measure(args.rounds, pool, report)
            report(
                " %.0f s%s\n"
                % (time.monotonic() - begun, "".join(", without " + n for n in group.left_out))
            )
    facts = {
        "conditions": conditions.facts(planned, args.no_sync, load, began),
        "rounds": args.rounds,
        "seconds": args.seconds,
    }
    return results, facts


def overlaps(results):
    """Whose holders met another, in which group."""
    return [
        "%s, %s" % (group, name)
        for group, by_name in results.items()
        for name, samples in by_name.items()
        if any(sample.get("violations") for sample in samples)
    ]


def alone():
    """Goes on in a network that nobody else uses: what is counted there is the run's."""
    if os.environ.get("ZKL_BENCH_ALONE"):
        return
    network = ["unshare", "--map-current-user", "--keep-caps", "--net"][:: 1 if os.getuid() else 3]
    begin = network + ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if subprocess.run(begin + ["true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.environ["ZKL_BENCH_ALONE"] = "1"
        os.execvp(begin[0], begin + [sys.executable, "-B"] + sys.argv)
    report("in the machine's network: attempts to connect are those of all its processes\n")


def main():
    args = arguments()
    alone()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped
    kept = os.path.join(subjects.OUT, "last-run")
    os.makedirs(subjects.OUT, exist_ok=True)
    if args.again:
        with open(kept, "rb") as f:
            results, facts = pickle.load(f)
    else:
        results, facts = measure(args)
        with open(kept, "wb") as f:
            pickle.dump((results, facts), f)
    folder = subjects.OUT if args.only else os.path.join(subjects.HERE, "results")
    text = table.markdown(all_rows(results), facts, curves.write_all(results, folder))
    with open(os.path.join(folder, "results.md"), "w", encoding="utf-8") as f:
        f.write(text)
    sys.stdout.write(text)
    if overlaps(results):
        sys.exit("two holders at once: " + "; ".join(overlaps(results)))


if __name__ == "__main__":
    main()
