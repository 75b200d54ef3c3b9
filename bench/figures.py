"""From what the programs answer to figures: pure functions."""
import statistics


def percentile(times, share):
    """Of {ns: count}, None when it is empty."""
    rank, total = share * sum(times.values()), 0
    for ns in sorted(times):
        total += times[ns]
        if total >= rank and total:
            return ns
    return None


def merged(maps):
    out = {}
    for one in maps:
        for key, count in one.items():
            out[int(key)] = out.get(int(key), 0) + count
    return out


def jain(counts):
    """1: all had the same; 1/n: one had all."""
    squares = sum(n * n for n in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else None


def middle(values):
    """The median of those that are there, None if none is."""
    there = [v for v in values if v is not None]
    return statistics.median(there) if there else None


def of(samples, key):
    """That key's median over a subject's rounds."""
    return middle(s.get(key) for s in samples)


def ratios(above, below, key):
    """Round by round, as both were measured in each."""
    pairs = ((a.get(key), b.get(key)) for a, b in zip(above, below))
    return [a / b for a, b in pairs if a is not None and b]


def grown(before, after, keys):
    return sum(after[k] - before[k] for k in keys if k in after)


WATCHES = [
    "zk_sum_node_%s_watch_count" % event for event in ("deleted", "created", "changed", "children")
]


def server_cost(before, after, operations):
    """What a ZooKeeper server counted, per operation."""
    if not before or not operations:
        return {}
    return {
        "requests": grown(before, after, ["zk_packets_received"]) / operations,
        "wakeups": grown(before, after, WATCHES) / operations,
    }


def loop_sample(answers, window_s):
    """One round of one subject, whose processes answered."""
    waits = merged(a["waits"] for a in answers)
    turns = sum(waits.values())
    sample = {
        "rate": sum(a["ops"] for a in answers) / window_s,
        "turns": turns,
        "cpu_us": sum(a["cpu_us"] for a in answers) / turns,
        "p50_us": percentile(waits, 0.5) / 1e3,
        "p99_us": percentile(waits, 0.99) / 1e3,
        "longest_ms": max(a["longest_ns"] for a in answers) / 1e6,
        "jain": jain([a["ops"] for a in answers]) if len(answers) > 1 else None,
        "violations": sum(a["violations"] for a in answers),
        "waits": waits,
    }
    if all("switches" in a for a in answers):
        sample["switches"] = sum(a["switches"] for a in answers) / turns
    return sample


def handle_sample(answer, before, after):
    """One round of a process whose waits are measured or not."""
    ops, waits = answer["ops"], merged([answer.get("waits", {})])
    sample = dict(
        server_cost(before, after, ops),
        rate=ops / answer["seconds"],
        ns=answer["seconds"] * 1e9 / ops,
        cpu_us=answer["cpu_us"] / ops,
        jain=answer.get("jain"),
        passed=answer.get("passed", 0) / ops,
    )
    if waits:
        sample["p50_us"] = percentile(waits, 0.5) / 1e3
        sample["p99_us"] = percentile(waits, 0.99) / 1e3
        sample["longest_ms"] = answer["longest_ns"] / 1e6
    return sample


def pair_sample(answers):
    """One round of processes at one lock; each node was one process's until another's turn."""
    ops = sum(a["ops"] for a in answers)
    return {
        "rate": sum(a["ops"] / a["seconds"] for a in answers),
        "nodes": sum(a["nodes"] / a["seconds"] for a in answers),
        "cpu_us": sum(a["cpu_us"] for a in answers) / ops,
        "jain": jain([a["ops"] for a in answers]),
    }


def crowd_sample(answer, bytes_sent, cost):
    waiters = answer["ops"]
    return dict(
        cost,
        rate=waiters / answer["seconds"],
        bytes=bytes_sent / waiters,
        cpu_us=answer["cpu_us"] / waiters,
        switches=answer["switches"] / waiters,
        heap=answer["heap"] / waiters,
        resident=answer["resident"] / waiters,
        p50_us=percentile(merged([answer["gaps"]]), 0.5) / 1e3,
        p99_us=percentile(merged([answer["gaps"]]), 0.99) / 1e3,
        longest_ms=answer["longest_ns"] / 1e6,
    )


def idle_sample(before, after, sessions, resident):
    """What sessions cost in which nothing happens; a second and session, but for what is a sum."""
    seconds, end = after["s"] - before["s"], after["counters"]
    writes, log = after["zxid"] - before["zxid"], after["log"] - before["log"]
    return {
        "requests": grown(before["counters"], end, ["zk_packets_received"]) / seconds / sessions,
        "writes": writes / seconds / sessions,
        "log_bytes": log / seconds / sessions,
        "resident": sum(resident) / sessions if resident else None,
        "watches": end["zk_watch_count"] / sessions,
        "connections": end["zk_num_alive_connections"] / sessions,
    }


def total(answers, key):
    return sum(a[key] for a in answers if key in a)


def storm_sample(before, after, seen_ns, counters):
    """What the processes answered before the outage and behind it, and what the new servers counted.
    A server serves when it was seen to, or when the first session is back."""
    back = merged(a["back"] for a in after)
    serves = min([seen_ns, *back])
    return {
        "first_s": (min(back, default=serves) - serves) / 1e9,
        "p50_s": ((percentile(back, 0.5) or serves) - serves) / 1e9,
        "last_s": (max(a["longest_ns"] for a in after) - serves) / 1e9,
        "missing": total(before, "connected") - total(after, "connected"),
        "lost": total(after, "lost") - total(before, "lost"),
        "tried": total(after, "tried") - total(before, "tried"),
        "handshakes": counters["zk_connection_request_count"],
        "requests": counters["zk_packets_received"],
    }
