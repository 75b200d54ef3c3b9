"""Sessions, errors, and what holds for all of the package."""

import inspect
import pickle
import queue
import re
import subprocess
import sys
import threading

import zkl
from check import CONNECT, HOUR, raises
from zkl import _c, _library


def errors(session, other, path):
    error = raises(zkl.Error, "EINVAL", zkl.Mutex, session, "relative")
    assert error.code == -1 and "relative" in str(error)
    copy = pickle.loads(pickle.dumps(raises(zkl.TimedOut, "ETIMEDOUT", busy, session, other, path)))
    assert type(copy) is zkl.TimedOut and copy.path == path and copy.code is zkl.Code.ETIMEDOUT and str(copy)
    with zkl.Session("127.0.0.1:1", log=lambda line: None) as nobody:
        error = raises(zkl.Unreachable, "EUNREACHABLE", nobody.wait, timeout=0.05)
        assert isinstance(error, ConnectionError) and nobody.outage != zkl.Outage.NONE
        lock = zkl.Mutex(nobody, path)
    raises(zkl.Closed, "ECLOSED", lock.acquire)
    raises(zkl.Closed, "ECLOSED", nobody.wait)
    raises(zkl.Closed, "ECLOSED", zkl.Mutex, nobody, path)
    for number, code in enumerate(zkl.Code, 1):
        assert code == -number and issubclass(type(zkl.errors.made(code, "", "")), zkl.Error)
    later = zkl.errors.made(-999, "", "").code
    assert later == -999 and later.name == "NUMBER_-999" and later not in list(zkl.Code)


def busy(session, other, path):
    with zkl.Mutex(session, path):
        zkl.Mutex(other, path).acquire(0.01)


def bad_arguments(session, other, path):
    """What ctypes or C would cut is refused."""
    for call in (
        lambda: zkl.Mutex(session, path + "\0behind"),
        lambda: zkl.Mutex(session, path, name="a\0b"),
        lambda: zkl.Mutex(session, path, retain=2**60),
        lambda: zkl.Semaphore(session, path, 2**32 + 1),
        lambda: zkl.Semaphore(session, path, 1).acquire(2**32 + 1),
        lambda: zkl.DoubleBarrier(session, path, 2**32 + 2),
        lambda: zkl.Session("127.0.0.1:1", tick=2**32),
        lambda: zkl.Session("127.0.0.1:1", no_such_option=1),
    ):
        try:
            call()
            raise AssertionError(inspect.getsource(call))
        except Exception as error:
            assert re.search("does not fit|null character|retain_ms|no_such_option", str(error)), error
    assert _library.ms(0.0001) == 1 and _library.ms(-1) == 0 and _library.ms(None) == _library.FOREVER


# What a parameter is called otherwise, and what is none: pointers, and what the package decides.
OTHERWISE = {"session_timeout_ms": "timeout", "yield": "yield_", "fn": "function"}
DECIDED = {"size", "key", "key_data", "fn_data", "log_data", "dispatch", "credential_count"}


# What takes options, where that is not the class of the same name alone.
TAKERS = {"Barrier": [zkl.Barrier, zkl.DoubleBarrier], "Queue": [zkl.read_queue]}


def options(session, other, path):
    """Each member of the structs of options is a parameter."""
    for struct in filter(lambda name: name.endswith("Options"), dir(_c)):
        noun = struct.removesuffix("Options")
        wanted = {name for name, _ in getattr(_c, struct)._fields_} - DECIDED
        wanted = {OTHERWISE.get(name, re.sub("_ms$", "", name)) for name in wanted}
        for taker in TAKERS.get(noun) or [getattr(zkl, noun)]:
            missing = wanted - set(inspect.signature(taker).parameters)
            assert not missing, "%s: %s of zkl_%s_options are no parameters" % (taker, missing, noun.lower())


# What Python has in another way, and why.
NOT_USED = {
    "zkl_once_call": "Once.call() is begin and end, so that the function may raise",
    "zkl_op_node": "zkl.read_queue() shows the nodes of waiters",
    "zkl_op_wait": "blocking functions wait",
    "zkl_session_keep": "it is for users of libzookeeper's handle",
}


def functions(session, other, path):
    """Each function of the headers is used."""
    source = "".join(inspect.getsource(module) for name, module in sys.modules.items() if re.match(r"zkl(?!\._c$)", name))
    unused = {name for name in _c.FUNCTIONS if not re.search(r"\b_?lib\.%s\b" % name, source)}
    assert unused <= set(NOT_USED), "nothing in python/zkl calls %s" % (unused - set(NOT_USED))


def raised(session, other, path):
    """What a callback raises goes to the interpreter's hook, and the next one comes."""
    hook, caught = sys.unraisablehook, []
    sys.unraisablehook = lambda what: caught.append(what.exc_value)
    grant, told = zkl.Semaphore(session, path, 1).acquire(), threading.Event()
    grant.on_change(lambda state: 1 // 0)
    grant.on_change(lambda state: told.set())
    grant.release()
    assert told.wait()
    sys.unraisablehook = hook
    assert [type(error) for error in caught] == [ZeroDivisionError]


def inside(session, other, path):
    """What would block in a callback is refused there."""
    grant, said = zkl.Semaphore(session, path, 1).acquire(), queue.Queue()
    lock = zkl.Mutex(session, path + "/lock")
    grant.on_change(lambda state: said.put(raises(zkl.Error, "EDEADLK", lock.acquire)))
    grant.release()
    assert said.get().path == path + "/lock"


def closed(session, other, path):
    """close() waits for callbacks."""
    events, told = [], []
    with zkl.Session(CONNECT) as mine:
        mine.on_change(lambda event, id: events.append((event, id)))
        mine.wait(HOUR)
        id = mine.id
        grant = zkl.Semaphore(mine, path, 1).acquire()
        grant.on_lost(lambda: told.append(True))
        watch = zkl.watch_queue(mine, path, lambda: None)
        zkl.watch_members(mine, path, lambda *_: None)
    assert told == [True] and grant.state == zkl.State.LOST and grant.loss == zkl.Loss.CLOSED
    assert events[0] == (zkl.SessionEvent.CONNECTED, id) and events[-1][0] == zkl.SessionEvent.CLOSED
    watch.close()
    mine.close()
    raises(zkl.Closed, "ECLOSED", grant.on_lost, told.clear)
    zkl.Semaphore(other, path).acquire(timeout=HOUR).release()


def closed_inside(session, other, path):
    """A callback that closes does not wait, and the last event comes all the same."""
    mine, events = zkl.Session(CONNECT), queue.Queue()
    mine.on_change(lambda event, id: events.put(event))
    grant = zkl.Semaphore(mine, path, 1).acquire()
    grant.on_change(lambda state: mine.close())
    grant.release()
    assert events.get() == zkl.SessionEvent.CONNECTED
    assert events.get() == zkl.SessionEvent.CLOSED
    raises(zkl.Closed, "ECLOSED", mine.on_change, print)


LEFT_OPEN = """
import sys, zkl
session = zkl.Session(sys.argv[1])
session.wait()
session.on_change(lambda event, id: print(event.name))
"""


def left_open(session, other, path):
    """The end of the program closes, while callbacks can be called."""
    child = subprocess.run([sys.executable, "-c", LEFT_OPEN, CONNECT], stdout=subprocess.PIPE, check=True)
    assert child.stdout.split() == [b"CONNECTED", b"CLOSED"], child.stdout


CHILD = """
import signal, sys, zkl
session = zkl.Session(sys.argv[1], log=lambda line: print(line, file=sys.stderr))
grant = zkl.Mutex(session, sys.argv[2]).acquire()
id, password = session.claim()
print(id, password.hex(), flush=True)
signal.pause()
"""


def claimed(session, other, path):
    """A dead process's session is ended at once."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, CONNECT, path], stdout=subprocess.PIPE)
    id, password = child.stdout.readline().split()
    child.kill()
    child.wait()
    child.stdout.close()
    raises(zkl.Busy, "EBUSY", zkl.Mutex(session, path).acquire, timeout=0)
    zkl.end_session(CONNECT, zkl.Claim(int(id), bytes.fromhex(password.decode())), HOUR)
    with zkl.Mutex(session, path).hold(timeout=0):
        pass


def logged(session, other, path):
    lines = queue.Queue()
    with zkl.Session(CONNECT, log=lines.put, log_level=zkl.LogLevel.INFO) as mine:
        mine.wait(HOUR)
        while (line := lines.get()).event != "session":
            assert line.text
        assert line.level == zkl.LogLevel.INFO and line.path is None, line
        assert line.session_id == mine.id and line.text and line.suppressed == 0


def stats(session, other, path):
    with zkl.Session(CONNECT) as mine:
        with zkl.Mutex(mine, path):
            raises(zkl.Busy, "EBUSY", zkl.Mutex(mine, path).acquire, timeout=0)
            now = mine.stats()
            assert (now.acquisitions, now.failed_busy, now.held, now.connected) == (1, 1, 1, 1)
        now = mine.stats()
        assert now.held == 0 and now.hold.count == 1 and sum(now.wait.buckets) == 1
        assert now.as_dict()["hold"][:2] == (1, now.hold.sum_ns)
        assert 'zkl_acquisitions_total{host="a\\"b"} 1' in now.prometheus(host='a"b'), now.prometheus(host='a"b')
        mine.set_servers(CONNECT)
        assert mine.timeout == 10
    bounds = zkl.histogram_bounds()
    assert bounds == sorted(bounds) and len(bounds) == len(now.wait.buckets)


def credentials(session, other, path):
    """A node that needs credentials is refused without them."""
    with zkl.Session(CONNECT, acl="auth::cdrwa", credentials=[("digest", "me:secret"), ("digest", "b:c")]) as mine:
        counter = zkl.Counter(mine, path + "/private")
        counter.set(7)
        error = raises(zkl.Refused, "EACCES", zkl.Counter(other, path + "/private").get)
        assert isinstance(error, PermissionError)
        assert counter.get() == 7


CASES = (errors, bad_arguments, options, functions, raised, inside, closed, closed_inside, left_open, claimed, logged, stats, credentials)
