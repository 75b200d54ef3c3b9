"""Members, shards, queues, counters, barriers, and work that is done once."""

import gc
import queue
import threading

import zkl
from check import HOUR, administrator, caught, raises


def members(session, other, path):
    seen, events = queue.Queue(), queue.Queue()
    with zkl.watch_members(other, path, lambda *news: seen.put(news)):
        event, _, everybody = seen.get()
        assert event == zkl.MembersEvent.ALL and len(everybody) == 0
        me = zkl.Member(session, path, "me", b"a\0b", lambda *news: events.put(news))
        me.wait(HOUR)
        event, news = events.get()
        assert event == zkl.MemberEvent.JOINED and news.token == me.grant().token and not news.again
        grant = me.grant()
        assert grant.state == zkl.State.HELD and 0 < grant.remaining() <= 10
        event, info, _ = seen.get()
        assert event == zkl.MembersEvent.JOINED
        assert (info.token, info.id, info.node, info.data) == (grant.token, "me", "me", b"a\0b")
        assert info.session_id == session.id and info.ctime > 1e9 and info.share is None
        event, _, everybody = seen.get()
        assert event == zkl.MembersEvent.ALL and list(everybody) == [info]
        me.update(b"other", HOUR)
        event, info, _ = seen.get()
        assert event == zkl.MembersEvent.CHANGED and info.data == b"other"
        seen.get()
        administrator("delete", path + "/me")
        event, news = events.get()
        assert event == zkl.MemberEvent.LOST and news.loss == zkl.Loss.DELETED
        assert grant.state == zkl.State.LOST
        event, news = events.get()
        assert event == zkl.MemberEvent.JOINED and news.again and news.token > info.token
        raises(zkl.Busy, "EBUSY", zkl.Member, session, path, "me")
        double = zkl.Member(other, path, "me", function=lambda *news: events.put(news))
        event, news = events.get()
        assert event == zkl.MemberEvent.BUSY and (news.session_id, news.data) == (session.id, "other")
        double.close()
        assert events.get()[0] == zkl.MemberEvent.LEFT
        me.leave(HOUR)
        event, news = events.get()
        assert event == zkl.MemberEvent.LEFT and news.error is None
        raises(zkl.Error, "EPERM", me.grant)
    assert len(zkl.read_members(other, path)) == 0


def shards(session, other, path):
    group = [zkl.Member(session, path, id, data) for id, data in (("a", b"own\nzkl-shards 8 2"), ("b", b"zkl-shards 8"))]
    zkl.Member(session, path, "c", b"mine").wait(HOUR)  # stays without a reference
    gc.collect()
    for member in group:
        member.wait(HOUR)
    everybody = zkl.read_members(other, path)
    assert [info.share for info in everybody] == [(8, 2), (8, 1), None] and everybody[0].id == "a"
    owners = everybody.plan(9)
    assert owners[8] is None and {info.id for info in owners[:8]} == {"a", "b"}
    assert everybody.plan(9) == owners
    raises(zkl.Error, "EINVAL", everybody.plan, 0)
    plans, told = [], threading.Event()

    def plan(event, _, present):
        if present:
            plans.append((present, present.plan(9)))
            told.set()

    def fail(event, _, present):
        plan(event, _, present)
        raise ValueError(event)

    for function in plan, fail:
        plans.clear()
        told.clear()
        with caught(), zkl.watch_members(other, path, function):
            assert told.wait() and plans[0][1] == owners
        raises(zkl.Closed, "ECLOSED", plans[0][0].plan, 9)
    for member in group:
        member.leave(HOUR)


def shares(session, other, path):
    """One has all; a second one gets its own, and leaves them to the first one when it closes."""
    events = {"a": queue.Queue(), "b": queue.Queue()}
    held = {"a": {}, "b": {}}

    def step(who):
        event, shard, grant, error = events[who].get()
        assert error is None and (grant is not None) == (event == zkl.ShardsEvent.GRANTED), (event, error)
        if event == zkl.ShardsEvent.GRANTED:
            assert grant.remaining() > 0 and grant.node.startswith(f"{path}/shards/{shard}/")
            held[who][shard] = grant
        elif event == zkl.ShardsEvent.ASKED:
            held[who].pop(shard).release()
        return event

    def start(of, who, **options):
        return zkl.Shards(of, path, 8, who, lambda *event: events[who].put(event), **options)

    first = start(session, "a", data="10.0.0.1")
    while len(held["a"]) < 8:
        step("a")
    raises(zkl.Busy, "EBUSY", start, session, "a")
    second = start(other, "b", weight=3)
    while len(group := zkl.read_members(session, path + "/members")) < 2:
        pass
    assert [info.share for info in group] == [(8, 1), (8, 3)] and group[0].data == b"10.0.0.1\nzkl-shards 8 1"
    owned = {shard for shard, owner in enumerate(group.plan(8)) if owner.id == "b"}
    while set(held["b"]) != owned:
        assert step("a") == zkl.ShardsEvent.ASKED and step("b") == zkl.ShardsEvent.GRANTED
    assert set(held["a"]) == set(range(8)) - owned
    second.close()
    while step("b") != zkl.ShardsEvent.STOPPED:
        pass
    assert not held["b"]
    while len(held["a"]) < 8:
        step("a")
    administrator("delete", held["a"][3].node)
    event, shard, _, _ = events["a"].get()
    assert event == zkl.ShardsEvent.LOST and shard == 3 and held["a"][3].loss == zkl.Loss.DELETED
    token = held["a"].pop(3).token
    gc.collect()  # which has given it up
    while 3 not in held["a"]:
        step("a")
    assert held["a"][3].token > token
    first.close()
    while step("a") != zkl.ShardsEvent.STOPPED:
        pass
    raises(zkl.Error, "EINVAL", start, session, "a/b")
    raises(zkl.Error, "EINVAL", start, session, "a", weight=1001)


def contenders(session, other, path):
    changed = threading.Event()
    with zkl.watch_queue(other, path, changed.set), zkl.Mutex(session, path, name="holder") as grant:
        assert changed.wait()
        (one,) = zkl.read_queue(other, path)
        assert (one.owner, one.token, one.holds) == ("holder", grant.token, True)
        assert (one.kind, one.client) == (zkl.Kind.LOCK, zkl.Client.ZKL) and one.session_id == session.id
        again = zkl.read_queue(other, path, previous=zkl.read_queue(other, path), max_nodes=1)
        assert list(again) == [one]
        lost = threading.Event()
        grant.on_lost(lost.set)
        zkl.break_contender(other, path, one)
        assert lost.wait()
        raises(zkl.Error, "ENOENT", zkl.break_contender, other, path, one)
        zkl.Mutex(session, path)
        assert len(zkl.read_queue(other, path)) == 0
        raise_lost = grant.loss
    assert raise_lost == zkl.Loss.DELETED


def contenders_lost(session, other, path):
    raises(zkl.Lost, "ELOST", contenders, session, other, path)


def counter(session, other, path):
    one, two = zkl.Counter(session, path), zkl.Counter(other, path)
    assert one.get() == 0 and one.add(7) == 7 and two.add(-9) == -2 and one.get() == -2
    one.set(2**63 - 1)
    raises(zkl.Error, "EOVERFLOW", two.add, 1)
    two.compare_and_set(2**63 - 1, -(2**63))
    raises(zkl.Error, "EVERSION", two.compare_and_set, 5, 6)
    for number in 2**63, -(2**63) - 1:  # which ctypes would cut
        try:
            one.set(number)
            raise AssertionError(number)
        except Exception as error:
            assert "does not fit" in str(error), error
    assert one.get() == -(2**63)
    told, open_ = [], threading.Event()
    latch = zkl.Counter(session, path + "-latch")
    latch.set(2)
    with zkl.Counter(other, path + "-latch").watch(lambda number: (told.append(number), number > 0 or open_.set())):
        latch.add(-1)
        assert latch.add(-1) == 0 and open_.wait()
    assert told[-1] == 0 and told == sorted(told, reverse=True)
    small = zkl.Counter(session, path + "-32", zkl.CounterWidth.COUNTER_32)
    raises(zkl.Error, "EOVERFLOW", small.set, 2**31)


def barrier(session, other, path):
    gate, seen = zkl.Barrier(session, path), zkl.Barrier(other, path)
    gate.set()
    raises(zkl.TimedOut, "ETIMEDOUT", seen.wait, 0.02)
    passed = threading.Event()
    thread = threading.Thread(target=lambda: (seen.wait(HOUR), passed.set()))
    thread.start()
    gate.remove()
    assert passed.wait()
    thread.join()


def double_barrier(session, other, path):
    one, two = zkl.DoubleBarrier(session, path, 2), zkl.DoubleBarrier(other, path, 2)
    raises(zkl.TimedOut, "ETIMEDOUT", one.enter, 0.02)
    thread = threading.Thread(target=lambda: (two.enter(HOUR), two.leave(HOUR)))
    thread.start()
    one.enter(HOUR)
    one.leave(HOUR)
    thread.join()
    raises(zkl.Error, "EPERM", one.leave)


def once(session, other, path):
    runs = []

    def work(grant):
        assert grant.remaining() > 0
        runs.append(grant.token)
        return b"v7"

    one, two = zkl.Once(session, path, name="web1"), zkl.Once(other, path)
    assert one.done() is None
    run = one.call(work)
    assert (run.token, run.name, run.result, run.due) == (runs[0], "web1", b"v7", None)
    assert two.call(work) == run == two.done() and len(runs) == 1
    try:
        zkl.Once(session, path + "-failing").call(lambda grant: 1 // 0)
        raise AssertionError("it did not fail")
    except ZeroDivisionError:
        assert zkl.Once(other, path + "-failing").call(work).token == runs.pop()
    two.reset()
    assert one.done() is None and one.call(work).token == runs[1] != runs[0]
    hourly = zkl.Once(session, path + "-hourly", period=3600)
    run = hourly.call(work)
    assert run.due == run.begun + 3600 and hourly.call(work) == run and len(runs) == 3
    assert run.calendar is None and run.instant is None
    minutely = zkl.Once(session, path + "-at", calendar="* * * * *", zone="Europe/Berlin", late=60, slack=0.001)
    run = minutely.call(work)
    assert run.calendar == "* * * * * Europe/Berlin" and run.due == run.instant + 60
    assert 0 <= run.begun - run.instant <= 60 and run.instant % 60 == 0


CASES = members, shards, shares, contenders_lost, counter, barrier, double_barrier, once
