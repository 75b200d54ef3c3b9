"""Locks and their grants."""

import gc
import os
import subprocess
import sys
import threading
import time
import warnings

import zkl
from check import CONNECT, HOUR, administrator, raises
from zkl._library import lib


def mutex(session, other, path):
    lock, rival = zkl.Mutex(session, path, name="me"), zkl.Mutex(other, path)
    with lock.hold(timeout=HOUR) as grant:
        assert grant.state == zkl.State.HELD and grant.node.startswith(path + "/")
        assert grant.session_id == session.id and grant.parts == (zkl.Part(grant.token, grant.node),)
        assert 0 < grant.remaining() <= 10
        left = grant.deadline() - time.clock_gettime(time.CLOCK_BOOTTIME)
        assert 0 < left <= 10, left
        assert grant.fence == f"{grant.token:016x}{grant.turn:016x}"
        raises(zkl.Busy, "EBUSY", rival.acquire, timeout=0)
        error = raises(zkl.TimedOut, "ETIMEDOUT", rival.acquire, timeout=0.02)
        assert "20 ms" in str(error) and error.path == path and isinstance(error, TimeoutError), error
        with lock as again:  # reentrant
            assert again.token == grant.token and lock.depth() == 2
        assert grant.remaining() > 0
    assert grant.state == zkl.State.RELEASED and grant.remaining() == 0 and grant.loss == zkl.Loss.NONE
    raises(zkl.Error, "EPERM", grant.deadline)
    raises(zkl.Error, "EPERM", grant.on_change, print)
    raises(zkl.Error, "EPERM", lock.release)
    with rival.hold(timeout=HOUR) as later:
        assert later.fence > grant.fence


def raised_inside(session, other, path):
    """A block that fails releases, and its own exception comes out, even after a loss."""
    lock = zkl.Mutex(session, path)
    for lose in False, True:
        for block in lock, lock.hold(HOUR), zkl.Semaphore(session, path + "/semaphore", 1).acquire(timeout=HOUR):
            try:
                with block as grant:
                    if lose:
                        lost_by_force(grant)
                    raise KeyError(lose)
            except KeyError as error:
                assert error.args == (lose,)
            assert lock.depth() == 0
    session.flush(HOUR)
    with zkl.Mutex(other, path).hold(timeout=0):
        pass


def lost_by_force(grant):
    told = threading.Event()
    grant.on_lost(told.set)
    administrator("delete", grant.node)
    assert told.wait()


WORKER = """
import os, sys, zkl
with zkl.Session(sys.argv[1]) as session:
    mutex = zkl.Mutex(session, sys.argv[2])
    last = 0
    for _ in range(60):
        with mutex as grant:
            os.close(os.open(sys.argv[3], os.O_CREAT | os.O_EXCL))
            assert grant.token > last
            last = grant.token
            os.sched_yield()
            os.unlink(sys.argv[3])
"""


def two_processes(session, other, path):
    """A file that each holder creates and removes: it never exists already."""
    mark = os.path.join(os.environ["SCRATCH"], "mark")
    command = [sys.executable, "-c", WORKER, CONNECT, path, mark]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]


def sockets():
    """Those that a program has which is executed now."""
    show = "import os; print(*(os.path.realpath(e.path) for e in os.scandir('/proc/self/fd')))"
    child = subprocess.run([sys.executable, "-c", show], close_fds=False, stdout=subprocess.PIPE, check=True)
    return {name for name in child.stdout.split() if b"/socket:" in name}


def not_inherited(session, other, path):
    """The connections are there, but not in children."""
    for one in session, other:
        with zkl.Mutex(one, path).hold(timeout=HOUR):
            pass
    own = {os.path.realpath(e.path).encode() for e in os.scandir("/proc/self/fd")}
    assert len([name for name in own - INHERITED if b"/socket:" in name]) >= 2, own
    assert sockets() == INHERITED


def forked(session, other, path):
    """In a forked child everything is over, even while another thread asked its grant."""
    lock, permit = zkl.Mutex(session, path), zkl.Semaphore(session, path + "/s", 1).acquire()
    with lock.hold() as grant:
        asking, asked = threading.Event(), threading.Event()

        def ask(_):
            asking.set()
            asked.wait()

        thread = threading.Thread(target=grant._c.use, args=(ask,))
        thread.start()
        asking.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            try:
                for one in grant, permit:
                    assert one.state == zkl.State.LOST and one.remaining() == 0 and one.token
                    assert one.loss == zkl.Loss.FORKED
                raises(zkl.Forked, "ECHILD", lock.acquire)
                raises(zkl.Forked, "ECHILD", lock.release)
                raises(zkl.Forked, "ECHILD", session.wait)
                permit.release()
                lock.close()
                session.close()
            except BaseException as error:
                sys.excepthook(type(error), error, error.__traceback__)
                os._exit(1)
            os._exit(0)
        asked.set()
        thread.join()
        assert os.waitpid(child, 0)[1] == 0
        assert grant.state == permit.state == zkl.State.HELD
    permit.release()


def owner(session, other, path):
    lock, caught = zkl.Mutex(session, path), []
    with lock as grant:
        grant.on_wanted(lambda: None)  # which is forgotten with the grant
        thread = threading.Thread(target=lambda: caught.append(raises(zkl.Error, "EPERM", lock.release)))
        thread.start()
        thread.join()
        assert caught and caught[0].path == path
    session.flush(HOUR)
    with zkl.Mutex(other, path).hold(timeout=0):
        pass


def ended_thread(session, other, path):
    """What a thread was lent ends with it, even for others that have it still."""
    lock, grants = zkl.Mutex(session, path), []
    log = []
    thread = threading.Thread(target=lambda: grants.append(lock.acquire()))
    thread.start()
    thread.join()
    assert grants[0].state == zkl.State.RELEASED and grants[0].remaining() == 0, log
    zkl.Mutex(other, path).acquire(HOUR)


def dropped(session, other, path):
    """A grant keeps its mutex; both are released when nobody has them, callbacks or not."""
    rival = zkl.Mutex(other, path)
    for take in (
        lambda: zkl.Mutex(session, path).acquire(HOUR),
        lambda: zkl.Semaphore(session, path + "/s", 1).acquire(timeout=HOUR),
    ):
        grant, ends = take(), []
        grant.on_change(ends.append)
        gc.collect()
        assert grant.state == zkl.State.HELD
        if not isinstance(grant, zkl.OwnedGrant):
            raises(zkl.Busy, "EBUSY", rival.acquire, timeout=0)
        del grant
        gc.collect()
        session.flush(HOUR)
        take()
    with rival.hold(HOUR):
        pass


def freed(session, other, path):
    lock = zkl.Mutex(session, path)
    grant = lock.acquire()
    lock.close()
    assert grant.state == zkl.State.RELEASED
    error = raises(zkl.Closed, "ECLOSED", lock.acquire)
    assert "Mutex" in str(error)
    late = zkl.Mutex(session, path)
    raises(zkl.Closed, "ECLOSED", late._acquired, lambda *call: (lib.zkl_mutex_lock(*call), late.close()), HOUR)
    with zkl.Mutex(other, path).hold(HOUR):
        pass


def retained(session, other, path):
    lock = zkl.Mutex(session, path, retain=60)
    with lock as first:
        pass
    with lock as second:
        assert (second.token, second.turn) == (first.token, 1) and second.fence > first.fence
    lock.give_up()
    session.flush(HOUR)
    with zkl.Mutex(other, path).hold(timeout=0) as third:
        assert third.token > first.token


def lost(session, other, path):
    lock, told, states = zkl.Mutex(session, path), threading.Event(), []
    permits = zkl.Semaphore(session, path + "/s", 1)
    for take in lock.hold, lambda: permits.acquire(timeout=HOUR):

        def use():
            with take() as grant:
                grant.on_change(states.append)
                grant.on_lost(told.set)
                administrator("delete", grant.node)
                assert told.wait()
                assert states == [zkl.State.LOST] == [grant.state] and grant.remaining() == 0
                assert grant.loss == zkl.Loss.DELETED
                raises(zkl.Lost, "ELOST", grant.deadline)
                kept.append(grant)

        kept = []
        error = raises(zkl.Lost, "ELOST", use)  # nothing inside noticed
        assert path in error.path and kept[0].state == zkl.State.LOST and kept[0].loss == zkl.Loss.DELETED
        states.clear()
        told.clear()
    with lock.hold(timeout=HOUR):
        pass


def wanted(session, other, path):
    told, asked, given = threading.Event(), threading.Event(), threading.Event()
    rival = zkl.Mutex(other, path)

    def wait_for_it():
        with rival.hold(timeout=HOUR):
            given.set()

    with zkl.Mutex(session, path) as grant:
        grant.on_wanted(told.set)
        grant.on_revoke(asked.set)
        thread = threading.Thread(target=wait_for_it)
        thread.start()
        assert told.wait()
        (contender,) = zkl.revoke(other, path)
        assert path + "/" + contender.node == grant.node and contender.holds
        assert asked.wait()
    thread.join()
    assert given.is_set()


def rwlock(session, other, path):
    lock, rival = zkl.RWLock(session, path), zkl.RWLock(other, path)
    with lock.hold_shared(), rival.hold_shared(HOUR):
        raises(zkl.Busy, "EBUSY", zkl.RWLock(other, path).acquire, timeout=0)
        raises(zkl.Error, "EDEADLK", lock.acquire)
    with lock.hold(HOUR) as grant:
        with lock.hold_shared() as inner:
            assert inner.token == grant.token and lock.depth() == 2
        raises(zkl.Busy, "EBUSY", rival.acquire_shared, timeout=0)


def multilock(session, other, path):
    paths = [path + "/b", path + "/a"]
    with zkl.MultiLock(session, paths).acquire(HOUR) as grant:
        assert [node.rpartition("/")[0] for _, node, _ in grant.parts] == paths
        assert len({part.token for part in grant.parts}) == 2 and grant.token == grant.parts[0].token
        assert (grant.turn, grant.fence) == (0, f"{grant.parts[0].token:016x}{0:016x}")
        for one in paths:
            raises(zkl.Busy, "EBUSY", zkl.Mutex(other, one).acquire, timeout=0)
    with zkl.Mutex(other, paths[1]).hold(HOUR):
        raises(zkl.Busy, "EBUSY", zkl.MultiLock(session, paths).acquire, timeout=0)


def semaphore(session, other, path):
    permits = zkl.Semaphore(session, path, 2)
    with permits.acquire() as one, permits.acquire(timeout=HOUR) as two:
        assert one.token < two.token and one.parts[0].slot is None
        raises(zkl.Busy, "EBUSY", permits.acquire, timeout=0)
        released = threading.Event()
        one.on_change(lambda state: released.set() if state == zkl.State.RELEASED else None)
        threading.Thread(target=one.release).start()  # any thread may
        assert released.wait()
        with permits.acquire(timeout=HOUR):
            pass
    raises(zkl.Error, "ELIMIT", permits.acquire, 3)
    assert permits.get_limit() == 2
    permits.set_limit(3)
    with permits.acquire(3, timeout=HOUR):
        pass
    numbered = zkl.Semaphore(session, path + "/n", 3, numbered=True)
    with numbered.acquire(2) as two, numbered.acquire() as one:
        assert [part.slot for part in two.parts] == [0, 1] and [part.slot for part in one.parts] == [2]


def multi(session, other, path):
    """A transaction of a holder is applied, that of one whose node is gone is not."""
    data, kind = path + "/data", zkl.ChangeKind
    counter = zkl.Counter(session, path + "/counter")
    with zkl.Mutex(session, path + "/lock") as grant:
        grant.multi([zkl.Change(kind.CREATE, data, b"1\0two"), zkl.Change(kind.SET, data, b"three")])
        error = raises(zkl.Error, "EVERSION", grant.multi, [zkl.Change(kind.CHECK, data, version=7)])
        assert error.path == data
        raises(zkl.Error, "EEXIST", grant.multi, [zkl.Change(kind.CREATE, data)])
        assert counter.add(5, fence=grant) == 5
        grant.multi([zkl.Change(kind.DELETE, data)], release=True)
        assert grant.state == zkl.State.RELEASED
    raises(zkl.Error, "EPERM", grant.multi, [])
    raises(zkl.Error, "EPERM", counter.set, 6, fence=grant)
    permit = zkl.Semaphore(session, path + "/s", 1).acquire()
    lost_by_force(permit)
    raises(zkl.Lost, "ELOST", permit.multi, [zkl.Change(kind.CREATE, data)])
    raises(zkl.Lost, "ELOST", counter.set, 6, fence=permit)
    permit.release()
    raises(zkl.Lost, "ELOST", counter.set, 6, fence=permit)
    assert counter.get() == 5


INHERITED = sockets()
CASES = (mutex, raised_inside, two_processes, not_inherited, forked, owner, ended_thread, dropped, freed, retained,
         lost, wanted, rwlock, multilock, semaphore, multi)
