"""asyncio."""

import asyncio
import os
import threading
import warnings

import zkl
from check import CONNECT, HOUR, administrator, raises, raises_async


def in_loop(case):
    """A case that runs in a loop, with a session of its own."""

    async def opened(other, path):
        async with zkl.AsyncSession(CONNECT) as session:
            await case(session, other, path)

    def run(_, other, path):
        asyncio.run(opened(other, path), debug=False)

    run.__name__ = case.__name__
    return run


@in_loop
async def acquires(session, other, path):
    lock = zkl.Mutex(session, path)
    with await lock.acquire_async(timeout=HOUR) as grant:
        assert grant.state == zkl.State.HELD
        await raises_async(zkl.Busy, "EBUSY", lock.acquire_async(0))
        error = await raises_async(zkl.TimedOut, "ETIMEDOUT", zkl.Mutex(session, path).acquire_async(0.02))
        assert error.path == path
        await grant.multi_async([zkl.Change(zkl.ChangeKind.CREATE, path + "-data", b"x")])
        error = await raises_async(
            zkl.Error, "EEXIST", grant.multi_async([zkl.Change(zkl.ChangeKind.CREATE, path + "-data")])
        )
        assert error.path == path + "-data"
    assert grant.state == zkl.State.RELEASED
    with await zkl.MultiLock(session, [path + "/a", path + "/b"]).acquire_async() as grant:
        assert len(grant.parts) == 2
    readers = zkl.RWLock(session, path + "-rw")
    with await readers.acquire_shared_async(), await readers.acquire_shared_async():
        await raises_async(zkl.Busy, "EBUSY", readers.acquire_async(0))
    with await readers.acquire_async(HOUR):
        await raises_async(zkl.Busy, "EBUSY", readers.acquire_shared_async(0))
    permits = zkl.Semaphore(session, path + "-s", 2)
    with await permits.acquire_async(2):
        await raises_async(zkl.Busy, "EBUSY", permits.acquire_async(timeout=0))


@in_loop
async def others(session, other, path):
    election = zkl.Election(session, path + "-e", "me")
    seen = asyncio.Queue()
    watch = election.watch(seen.put_nowait)
    assert await seen.get() is None
    with await election.campaign_async(HOUR) as term:
        assert (await seen.get()).token == term.token
        await election.proclaim_async(b"here")
        assert (await seen.get()).data == b"here"
    watch.close()
    member = zkl.Member(session, path + "-g", "me")
    await member.wait_async(HOUR)
    await member.update_async(b"new", HOUR)
    assert zkl.read_members(session, path + "-g")[0].data == b"new"
    await member.leave_async(HOUR)
    gate = zkl.Barrier(session, path + "-b")
    gate.set()
    waiter = asyncio.ensure_future(gate.wait_async(HOUR))
    await asyncio.to_thread(gate.remove)  # what only asks the servers blocks, and may have a thread
    await waiter
    pair = [zkl.DoubleBarrier(session, path + "-d", 2) for _ in range(2)]
    await asyncio.gather(*(one.enter_async(HOUR) for one in pair))
    await asyncio.gather(*(one.leave_async(HOUR) for one in pair))


async def in_line(session, path, count):
    """Until so many contend. A session with threads of its own calls from one of these."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    with zkl.watch_queue(session, path, lambda: loop.call_soon_threadsafe(changed.set)):
        while len(await asyncio.to_thread(zkl.read_queue, session, path)) != count:
            await changed.wait()
            changed.clear()


@in_loop
async def canceled(session, other, path):
    """A waiter that is cancelled leaves no node."""
    lock, rival = zkl.Mutex(session, path), zkl.Mutex(session, path)
    with await lock.acquire_async() as grant:
        waiter = asyncio.ensure_future(rival.acquire_async())
        await in_line(session, path, 2)
        assert [one.holds for one in zkl.read_queue(session, path)] == [True, False]
        waiter.cancel()
        await ends_cancelled(waiter)
        await in_line(session, path, 1)
        with_limit = asyncio.wait_for(rival.acquire_async(), 0.05)
        try:
            await with_limit
            raise AssertionError("acquired what is held")
        except asyncio.TimeoutError:
            pass
        await in_line(session, path, 1)
        assert grant.state == zkl.State.HELD


async def ends_cancelled(task):
    try:
        await task
    except asyncio.CancelledError:
        return
    raise AssertionError("not cancelled")


@in_loop
async def canceled_late(session, other, path):
    """A cancellation between the grant and the waiter's next step releases, on either side of the future's result."""
    loop, lock = asyncio.get_running_loop(), zkl.Mutex(session, path)
    deliver = loop.call_soon_threadsafe
    for first in True, False:
        granted = asyncio.Event()

        def between(settle, *arguments):
            grant = arguments[0] if arguments else None
            if not isinstance(grant, zkl.OwnedGrant):
                return deliver(settle, *arguments)
            if first:
                deliver(waiter.cancel)
            deliver(settle, *arguments)
            if not first:
                deliver(waiter.cancel)
            grants.append(grant)
            return deliver(granted.set)

        grants = []
        loop.call_soon_threadsafe = between
        waiter = asyncio.ensure_future(lock.acquire_async())
        await granted.wait()
        loop.call_soon_threadsafe = deliver
        await ends_cancelled(waiter)
        assert grants[0].state == zkl.State.RELEASED
        await asyncio.to_thread(session.flush, HOUR)
        assert len(await asyncio.to_thread(zkl.read_queue, session, path)) == 0


@in_loop
async def callbacks(session, other, path):
    """They run in the loop's thread, even when the session closes."""
    threads, lost = [], asyncio.Event()

    def told():
        threads.append(threading.get_ident())
        lost.set()

    grant = await zkl.Semaphore(session, path, 2).acquire_async()
    grant.on_lost(told)
    await asyncio.to_thread(administrator, "delete", grant.node)
    await lost.wait()
    grant = await zkl.Semaphore(session, path).acquire_async()
    grant.on_lost(told)
    waiter = asyncio.ensure_future(zkl.Semaphore(session, path).acquire_async(2))
    await in_line(session, path, 2)
    await session.aclose()
    await raises_async(zkl.Closed, "ECLOSED", waiter)
    assert threads == [threading.get_ident()] * 2 and grant.loss == zkl.Loss.CLOSED
    assert not asyncio.get_running_loop().remove_reader(session._fd)
    await session.aclose()
    with zkl.AsyncSession(CONNECT) as another:
        pass
    assert not asyncio.get_running_loop().remove_reader(another._fd)


@in_loop
async def closed_inside(session, other, path):
    """A callback closes at once."""
    told = asyncio.get_running_loop().create_future()
    grant, left = [await zkl.Semaphore(session, path, 2).acquire_async() for _ in range(2)]
    grant.on_change(lambda state: (session.close(), told.set_result(left.state)))
    grant.release()
    assert await told == zkl.State.LOST


@in_loop
async def forked(session, other, path):
    """A child that closes takes nothing from the parent's loop."""

    def served():
        with open(f"/proc/self/fdinfo/{asyncio.get_running_loop()._selector.fileno()}") as info:
            return [line for line in info if line.startswith("tfd:") and int(line.split()[1]) == session._fd]

    for close in session.close, lambda: session.aclose().send(None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            try:
                close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert served()


@in_loop
async def turns(session, other, path):
    """Tasks that share a mutex exclude each other."""
    lock, inside, most = zkl.Mutex(session, path), 0, 0

    async def work():
        nonlocal inside, most
        for _ in range(5):
            with await lock.acquire_async():
                inside += 1
                most = max(most, inside)
                await asyncio.to_thread(int)
                inside -= 1

    await asyncio.gather(*(work() for _ in range(4)))
    assert most == 1


def with_threads(session, other, path):
    """A session that has threads of its own serves a loop, too; one whose loop is over ends what it had begun."""

    async def acquire():
        with await zkl.Mutex(session, path).acquire_async(HOUR) as grant:
            return grant.token

    assert asyncio.run(acquire()) < asyncio.run(acquire())

    async def abandon():
        begun.append(zkl.Mutex(session, path).acquire_async())
        task = asyncio.ensure_future(begun[0])
        await in_line(session, path, 2)
        return task

    begun = []
    with zkl.Mutex(other, path):
        asyncio.run(abandon())  # which cancels it
        other.flush(HOUR)
    with zkl.Mutex(other, path).hold(HOUR):
        pass


def outside(session, other, path):
    """Without a loop there is no AsyncSession, and nothing is left of it."""
    try:
        zkl.AsyncSession(CONNECT)
        raise AssertionError("opened")
    except RuntimeError:
        pass
    try:
        zkl.Mutex(session, path).acquire_async().send(None)
        raise AssertionError("begun")
    except RuntimeError:
        pass
    raises(zkl.Error, "ENOENT", zkl.read_queue, other, path)


@in_loop
async def shares(session, other, path):
    """A task for each shard, which ends when the shard is asked for."""
    tasks, asked, seen, stopped = {}, {}, asyncio.Queue(), asyncio.Event()

    async def work(shard, grant):
        with grant:
            seen.put_nowait((shard, grant.remaining() > 0))
            await asked[shard].wait()

    def hear(event, shard, grant, error):
        if event == zkl.ShardsEvent.GRANTED:
            asked[shard] = asyncio.Event()
            tasks[shard] = asyncio.ensure_future(work(shard, grant))
        elif event == zkl.ShardsEvent.ASKED:
            asked[shard].set()
        elif event == zkl.ShardsEvent.STOPPED:
            assert error is None
            stopped.set()

    with zkl.Shards(session, path, 3, "a", hear):
        assert sorted([await seen.get() for _ in range(3)]) == [(0, True), (1, True), (2, True)]
    await stopped.wait()
    await asyncio.gather(*tasks.values())


CASES = (acquires, others, canceled, canceled_late, callbacks, closed_inside, forked, turns, with_threads, outside,
         shares)
