"""What examples/python/zkl.py does, on the servers that ZKL_CONNECT names: a line for each case."""

import contextlib
import os
import subprocess
import sys
import threading
import time

import zkl

LIMIT = 60  # only a hang reaches it
CONNECT = os.environ["ZKL_CONNECT"]


def raises(kind, name, fn, *arguments, **keywords):
    try:
        fn(*arguments, **keywords)
    except kind as error:
        assert error.name == name, error.name
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def mutex(session, other, path):
    lock, rival = session.mutex(path, name="me"), other.mutex(path)
    with lock.hold(timeout=LIMIT) as grant:
        assert grant.state == zkl.State.HELD and grant.node.startswith(path + "/")
        assert 0 < grant.remaining() <= 10
        left = grant.deadline() - time.clock_gettime(time.CLOCK_BOOTTIME)
        assert 0 < left <= 10, left
        assert grant.fence == f"{grant.token:016x}{grant.turn:016x}"
        raises(zkl.NotAcquired, "BUSY", rival.acquire, timeout=0)
        error = raises(zkl.NotAcquired, "TIMEDOUT", rival.acquire, timeout=0.02)
        assert "20 ms" in str(error), error
        with lock.hold() as again:  # reentrant
            assert again.token == grant.token
        assert grant.remaining() > 0
    assert grant.state == zkl.State.RELEASED and grant.remaining() == 0
    raises(zkl.Error, "PERM", lock.release)
    with rival.hold(timeout=LIMIT) as later:
        assert later.fence > grant.fence


def sockets():
    """Those that a program has which is executed now."""
    show = "import os; print(*(os.path.realpath(e.path) for e in os.scandir('/proc/self/fd')))"
    child = subprocess.run([sys.executable, "-c", show], close_fds=False, stdout=subprocess.PIPE, check=True)
    return {name for name in child.stdout.split() if b"/socket:" in name}


def not_inherited(session, other, path):
    """The connections are there, but not in children."""
    for one in session, other:
        with one.mutex(path).hold(timeout=LIMIT):
            pass
    own = {os.path.realpath(e.path).encode() for e in os.scandir("/proc/self/fd")}
    assert len([name for name in own - INHERITED if b"/socket:" in name]) >= 2, own
    assert sockets() == INHERITED


def owner(session, other, path):
    lock, caught = session.mutex(path), []
    with lock.hold():
        thread = threading.Thread(target=lambda: caught.append(raises(zkl.Error, "PERM", lock.release)))
        thread.start()
        thread.join()
        assert caught and caught[0].path == path
    session.flush(LIMIT)
    with other.mutex(path).hold(timeout=0):
        pass


def retained(session, other, path):
    lock = session.mutex(path, retain_ms=60000)
    with lock.hold() as first:
        pass
    with lock.hold() as second:
        assert (second.token, second.turn) == (first.token, 1) and second.fence > first.fence
    lock.close()
    with other.mutex(path).hold(timeout=LIMIT) as third:
        assert third.token > first.token


def lost(session, other, path):
    lock, told, states = session.mutex(path), threading.Event(), []
    with lock.hold() as grant:
        grant.on_change(states.append)
        grant.on_lost(told.set)
        subprocess.run([os.environ["ADMIN"], "delete", grant.node], check=True)
        assert told.wait(LIMIT)
        assert states == [zkl.State.LOST] == [grant.state] and grant.remaining() == 0
        raises(zkl.Lost, "LOST", grant.deadline)
    with lock.hold(timeout=LIMIT):  # the block has ended in spite of the loss
        pass


def wanted(session, other, path):
    told, given = threading.Event(), threading.Event()
    rival = other.mutex(path)

    def wait_for_it():
        with rival.hold(timeout=LIMIT):
            given.set()

    with session.mutex(path).hold() as grant:
        grant.on_wanted(told.set)
        thread = threading.Thread(target=wait_for_it)
        thread.start()
        assert told.wait(LIMIT)
    thread.join()
    assert given.is_set()


def semaphore(session, other, path):
    permits = session.semaphore(path, limit=2)
    with permits.acquire() as one, permits.acquire(timeout=LIMIT) as two:
        assert one.token < two.token
        raises(zkl.NotAcquired, "BUSY", permits.acquire, timeout=0)
        released = threading.Event()
        one.on_change(lambda state: released.set() if state == zkl.State.RELEASED else None)
        threading.Thread(target=one.release).start()  # any thread may
        assert released.wait(LIMIT)
        with permits.acquire(timeout=LIMIT):
            pass
    raises(zkl.Error, "LIMIT", permits.acquire, 3)
    grant = permits.acquire(2)
    del grant  # releases it, too
    permits.acquire(2, timeout=LIMIT).release()


def election(session, other, path):
    one, two = session.election(path, "one"), other.election(path, "two")
    assert one.leader() is None
    with one.campaign(timeout=LIMIT) as term:
        assert other.election(path).leader() == (term.token, "one")
        raises(zkl.NotAcquired, "BUSY", two.campaign, timeout=0)
    with two.campaign(timeout=LIMIT) as later:
        assert later.token > term.token and term.state == zkl.State.RELEASED


def errors(session, other, path):
    error = raises(zkl.Error, "INVAL", session.mutex, "relative")
    assert error.code == -1 and "relative" in str(error)
    with contextlib.suppress(TypeError):
        session.mutex(path, no_such_option=1)
        raise AssertionError("an option that does not exist")
    with zkl.Session("127.0.0.1:1") as nobody:
        raises(zkl.Error, "UNREACHABLE", nobody.wait, timeout=0.05)
        lock = nobody.mutex(path)
    raises(zkl.Error, "CLOSED", lock.acquire)


def raised(session, other, path):
    hook, caught = sys.unraisablehook, []
    sys.unraisablehook = lambda what: caught.append(what.exc_value)
    grant = session.semaphore(path, limit=1).acquire()
    grant.on_change(lambda state: 1 // 0)
    grant.release()
    told = threading.Event()
    later = session.semaphore(path).acquire(timeout=LIMIT)
    later.on_change(lambda state: told.set())
    later.release()
    assert told.wait(LIMIT)  # behind the other one
    sys.unraisablehook = hook
    assert [type(error) for error in caught] == [ZeroDivisionError]


def closed(session, other, path):
    with zkl.Session(CONNECT) as mine:
        grant, told = mine.semaphore(path, limit=1).acquire(), []
        grant.on_lost(lambda: told.append(True))
    assert told == [True] and grant.state == zkl.State.LOST  # close() waits for callbacks
    raises(zkl.Error, "CLOSED", grant.on_lost, told.clear)
    other.semaphore(path).acquire(timeout=LIMIT).release()


INHERITED = sockets()


def main():
    passed = failed = 0
    with zkl.Session(CONNECT) as session, zkl.Session(CONNECT) as other:
        for case in (mutex, not_inherited, owner, retained, lost, wanted, semaphore, election, errors, raised, closed):
            try:
                case(session, other, "/python/" + case.__name__)
            except Exception as error:  # pylint: disable=broad-except
                sys.excepthook(type(error), error, error.__traceback__)
                failed += 1
                print("FAILED:", case.__name__)
            else:
                passed += 1
                print("ok:", case.__name__)
    assert not zkl._calls, "what has ended is kept"
    left_open = zkl.Session(CONNECT)  # closed at the end of the program
    left_open.mutex("/python/end").acquire()
    return failed


sys.exit(main())
