"""Shares a table of jobs in a database with all who run this: partition.py CONNECT PATH COUNT ID DATABASE.

A job belongs to the shard that is the remainder of its number. Each write has the fence of the shard's grant, and the
table refuses a lower one: so a process that wakes up late changes nothing. In PostgreSQL other statements do that: see
docs/guide/fences.md.
"""
import queue
import signal
import sqlite3
import sys
import zkl

connect, path, count, me, file = sys.argv[1:]
count, mine, events = int(count), {}, queue.Queue()
db = sqlite3.connect(file, timeout=60, isolation_level=None)  # each statement is a transaction
db.execute("CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, done TEXT, fence TEXT)")
db.execute("CREATE TABLE IF NOT EXISTS fences (shard INTEGER PRIMARY KEY, fence TEXT NOT NULL)")


def serve(shard, fence):
    """Does one job of the shard, unless somebody has a higher fence."""
    db.execute("INSERT INTO fences VALUES (?, ?) ON CONFLICT (shard) DO UPDATE SET fence = excluded.fence"
               " WHERE excluded.fence > fences.fence", (shard, fence))
    db.execute("UPDATE jobs SET done = ?, fence = ? WHERE id = (SELECT min(id) FROM jobs WHERE done IS NULL AND"
               " id % ? = ?) AND ? = (SELECT fence FROM fences WHERE shard = ?)",
               (me, fence, count, shard, fence, shard))


def stop(*_):
    sys.exit(0)  # closes the session: others get the shards at once


signal.signal(signal.SIGTERM, stop)
with zkl.Session(connect) as session, zkl.Shards(session, path, count, me, lambda *event: events.put(event)):
    while db.execute("SELECT count(*) FROM jobs WHERE done IS NULL").fetchone()[0]:
        while not mine or not events.empty():
            event, shard, grant, error = events.get()
            if event == zkl.ShardsEvent.GRANTED:
                mine[shard] = grant
            elif event in (zkl.ShardsEvent.ASKED, zkl.ShardsEvent.LOST):
                given = mine.pop(shard, None)  # both may come for one grant
                if given:
                    given.release()
            elif event == zkl.ShardsEvent.FAILED:
                print(error, file=sys.stderr)
            elif event == zkl.ShardsEvent.STOPPED:
                sys.exit(str(error))
        for shard, grant in mine.items():
            if grant.remaining() > 1:
                serve(shard, grant.fence)
