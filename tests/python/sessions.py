"""Sessions, errors, and what holds for all of the package."""

import inspect
import os
import pickle
import queue
import re
import subprocess
import sys
import threading

import zkl
from check import CONNECT, HOUR, caught, raises, step
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
    held, create = zkl.Semaphore(session, path, 1).acquire(), zkl.ChangeKind.CREATE
    for call in (
        lambda: zkl.Mutex(session, path + "\0behind"),
        lambda: zkl.Mutex(session, path, name="a\0b"),
        lambda: zkl.Mutex(session, path, retain=2**60),
        lambda: zkl.Semaphore(session, path, 2**32 + 1),
        lambda: zkl.Semaphore(session, path, 1).acquire(2**32 + 1),
        lambda: zkl.DoubleBarrier(session, path, 2**32 + 2),
        lambda: held.multi([zkl.Change(create, path + "-0", version=2**32 - 1)]),
        lambda: held.multi([zkl.Change(2**32 + create, path + "-0")]),
        lambda: zkl.end_session(CONNECT, zkl.Claim(2**64 + session.id, bytes(16)), HOUR),
        lambda: zkl.Session("127.0.0.1:1", tick=2**32),
        lambda: zkl.Session("127.0.0.1:1", no_such_option=1),
    ):
        try:
            call()
            raise AssertionError(inspect.getsource(call))
        except Exception as error:
            assert re.search("does not fit|null character|retain_ms|no_such_option", str(error)), error
    held.release()
    assert _library.ms(0.0001) == 1 and _library.ms(-1) == 0 and _library.ms(None) == _library.FOREVER


# What a parameter is called otherwise, and what is none: pointers, and what the package decides.
OTHERWISE = {"session_timeout_ms": "timeout", "yield": "yield_", "fn": "function"}
DECIDED = {"size", "reserved", "key", "key_data", "fn_data", "log_data", "dispatch", "credential_count"}


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
    grant, told = zkl.Semaphore(session, path, 1).acquire(), threading.Event()
    grant.on_change(lambda state: 1 // 0)
    grant.on_change(lambda state: told.set())
    with caught() as errors:
        grant.release()
        assert told.wait()
    assert [type(error) for error in errors] == [ZeroDivisionError]


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
import atexit, sys, threading, time

@atexit.register  # comes behind what the package does at the end of the program
def late():
    try:
        zkl.Session(sys.argv[1])
    except zkl.Closed:
        print("refused")

import zkl
session = zkl.Session(sys.argv[1])
session.wait()
begun = threading.Event()

def tell(event, id):
    if event == zkl.SessionEvent.CLOSED:
        begun.set()
        time.sleep(0.2)  # it is slow
    print(event.name)

session.on_change(tell)
"""
# How a program ends that has left its session open.
ENDS = {
    "by itself": "",
    "while a thread closes": "threading.Thread(target=session.close, daemon=True).start(); begun.wait()",
    "while a callback has closed": """
grant = zkl.Semaphore(session, sys.argv[2], 1).acquire()
grant.on_change(lambda state: session.close())
grant.release()
begun.wait()
""",
    "while a thread writes behind the fence of a grant that is lent, and gets no answer": """
grant = zkl.Mutex(session, sys.argv[2]).acquire()
write = lambda _: (begun.set(), threading.Event().wait())
threading.Thread(target=grant._c.ask, args=(write,), daemon=True).start()
begun.wait()
""",
}


def left_open(session, other, path):
    """The end of the program closes, while callbacks can be called."""
    for how, end in ENDS.items():
        command = [sys.executable, "-c", LEFT_OPEN + end, CONNECT, path]
        child = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        assert child.stdout.split() == [b"CONNECTED", b"CLOSED", b"refused"], (how, child.stdout)
        step()


CHILD = """
import signal, sys, zkl
session = zkl.Session(sys.argv[1], 40, credentials=[("digest", "me:secret")], log=lambda line: print(line, file=sys.stderr))
grant = zkl.Mutex(session, sys.argv[2]).acquire()
id, password = session.claim()
print(id, password.hex(), flush=True)
signal.pause()
"""


def left_by_dead(session, path):
    """The claim of the session of a dead process, which holds the lock."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, CONNECT, path], stdout=subprocess.PIPE)
    id, password = child.stdout.readline().split()
    child.kill()
    child.wait()
    child.stdout.close()
    raises(zkl.Busy, "EBUSY", zkl.Mutex(session, path).acquire, timeout=0)
    return zkl.Claim(int(id), bytes.fromhex(password.decode()))


def claimed(session, other, path):
    """A dead process's session is ended at once."""
    claim = left_by_dead(session, path)
    for wrong in ({"session_timeout": 0.1}, {"tls_ca": "a"}, {"tls_cert": "a"}, {"tls_key": "a"}):
        raises(zkl.Error, "EINVAL", zkl.end_session, CONNECT, claim, HOUR, **wrong)
    zkl.end_session(CONNECT, claim, HOUR)
    with zkl.Mutex(session, path).hold(timeout=0):
        pass


def claimed_with_credentials():
    """Where the servers demand some; by python.sh."""
    mine = {"credentials": [("digest", "me:secret")]}
    with zkl.Session(CONNECT, **mine) as session:
        claim = left_by_dead(session, "/claimed")
        raises(zkl.Refused, "EAUTH", zkl.end_session, CONNECT, claim, HOUR)
        zkl.end_session(CONNECT, claim, HOUR, **mine)
        with zkl.Mutex(session, "/claimed").hold(timeout=0):
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
        assert f'zkl_path_acquisitions_total{{job="x",path="{path}"}} 1\n' in mine.prometheus(job="x")
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


LEAVING = """
import sys, threading, zkl
session = zkl.Session(sys.argv[1])
session.wait()
mutex, permits, counter, gate, member, election, once = (
    zkl.Mutex(session, sys.argv[2] + "/mutex"), zkl.Semaphore(session, sys.argv[2] + "/s", 1),
    zkl.Counter(session, sys.argv[2] + "/counter"), zkl.Barrier(session, sys.argv[2] + "/barrier"),
    zkl.Member(session, sys.argv[2] + "/group", "me"), zkl.Election(session, sys.argv[2] + "/leader", "me"),
    zkl.Once(session, sys.argv[2] + "/once"))
gate.set()
member.wait()
held = permits.acquire()
held.on_lost(lambda: print("lost"))
turns = threading.Semaphore(0)

def hold():
    with mutex.hold() as grant:
        grant.remaining()

def ask():
    held.remaining(), held.state, session.stats(), session.outage, session.id, member.grant().token

def again(function):
    while True:
        try:
            function()
        except zkl.Error:
            pass
        turns.release()

for function in (hold, hold, ask, ask, counter.get, permits.get_limit, election.leader, election.status, once.done,
                 lambda: len(zkl.read_members(session, sys.argv[2] + "/group").plan(3)),
                 lambda: zkl.read_queue(session, sys.argv[2] + "/mutex")):
    threading.Thread(target=again, args=(function,), daemon=True).start()
for function in gate.wait, permits.acquire, session.flush, lambda: zkl.Session(sys.argv[1]).wait():
    threading.Thread(target=again, args=(function,), daemon=True).start()
for _ in range(200):
    turns.acquire()
"""


def left_beside_threads(session, other, path):
    """The program ends while daemon threads use what it has. What is freed is overwritten, so that it is seen."""
    tunables = {"GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"}
    for _ in range(4):
        command = [sys.executable, "-c", LEAVING, CONNECT, path]
        child = subprocess.run(command, env={**os.environ, **tunables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert (child.returncode, child.stdout) == (0, b""), child
        step()


CLOSING = """
import sys, threading, zkl
session = zkl.Session(sys.argv[1])
path, rounds = sys.argv[2], 20
session.wait()
zkl.Barrier(session, path + "/barrier").set()
fence = zkl.Semaphore(session, path + "/fence", 1).acquire()

def held(lock):
    with lock.hold(0.01) as grant:
        grant.remaining(), grant.state, lock.depth()

def plan(members):
    members.plan(3)

MAKERS = (
    ("Session", lambda: zkl.Session("127.0.0.1:1"), lambda s: (s.stats(), s.outage, zkl.Counter(s, path))),
    ("Session, watched", lambda: zkl.Session("127.0.0.1:1"), lambda s: zkl.watch_queue(s, path, print).close()),
    ("Mutex", lambda: zkl.Mutex(session, path + "/mutex"), held),
    ("Mutex, status", lambda: zkl.Mutex(session, path + "/mutex"), lambda m: (m.depth(), m.give_up())),
    ("RWLock", lambda: zkl.RWLock(session, path + "/rwlock"), held),
    ("MultiLock", lambda: zkl.MultiLock(session, [path + "/a"]), lambda m: m.acquire(0).release()),
    ("Semaphore", lambda: zkl.Semaphore(session, path + "/s", 1), lambda s: s.acquire(timeout=0).release()),
    ("Semaphore, limit", lambda: zkl.Semaphore(session, path + "/fence"), lambda s: s.get_limit()),
    ("Counter", lambda: zkl.Counter(session, path + "/counter"), lambda c: c.add(1, fence)),
    ("Barrier", lambda: zkl.Barrier(session, path + "/barrier"), lambda b: b.wait(0.01)),
    ("DoubleBarrier", lambda: zkl.DoubleBarrier(session, path + "/double", 9), lambda b: b.enter(0.01)),
    ("Election", lambda: zkl.Election(session, path + "/e", "me"), lambda e: (e.status(), e.campaign(0).release())),
    ("Member", lambda: zkl.Member(session, path + "/group", "me"), lambda m: (m.grant(), m.update(b"x"))),
    ("Once", lambda: zkl.Once(session, path + "/once"), lambda o: (o.done(), o.call(lambda grant: b"", 0))),
)

def use(object_, function, used):
    while True:
        try:
            function(object_)
        except zkl.Error as error:
            if object_._c.closed:
                return
        used.set()

for name, make, function in MAKERS:
    for _ in range(rounds):
        try:
            object_ = make()
        except zkl.Busy:  # the member before is not gone
            session.flush()
            continue
        used = threading.Event()
        threads = [threading.Thread(target=use, args=(object_, function, used)) for _ in range(3)]
        for thread in threads:
            thread.start()
        used.wait()
        object_.close()
        for thread in threads:
            thread.join()
    print(name, flush=True)
"""


def closed_beside_threads(session, other, path):
    """Objects of each kind are closed while threads use them, which hear of it."""
    tunables = {"GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"}
    command = [sys.executable, "-c", CLOSING, CONNECT, path]
    child = subprocess.Popen(command, env={**os.environ, **tunables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = [(step(), line)[1] for line in child.stdout]
    errors = child.communicate()[1]
    assert child.returncode == 0, (child.returncode, seen, errors)


def closed_while_waiting(session, other, path):
    """What waits without a limit, in each kind of object, fails when another thread closes that."""
    zkl.Barrier(other, path + "/barrier").set()
    mutex, writer = zkl.Mutex(other, path + "/mutex"), zkl.RWLock(other, path + "/rwlock")
    permits, leader = zkl.Semaphore(other, path + "/s", 1), zkl.Election(other, path + "/e", "other")
    once = zkl.Mutex(other, path + "/once")
    nobody = zkl.Session("127.0.0.1:1", log=lambda line: None)
    with mutex, writer.hold(), permits.acquire(), leader.campaign(), once:
        for object_, wait in (
            (zkl.Mutex(session, path + "/mutex"), zkl.Mutex.acquire),
            (zkl.RWLock(session, path + "/rwlock"), zkl.RWLock.acquire),
            (zkl.RWLock(session, path + "/rwlock"), zkl.RWLock.acquire_shared),
            (zkl.MultiLock(session, [path + "/mutex", path + "/more"]), zkl.MultiLock.acquire),
            (zkl.Semaphore(session, path + "/s"), zkl.Semaphore.acquire),
            (zkl.Barrier(session, path + "/barrier"), zkl.Barrier.wait),
            (zkl.DoubleBarrier(session, path + "/double", 2), zkl.DoubleBarrier.enter),
            (zkl.Election(session, path + "/e", "me"), zkl.Election.campaign),
            (zkl.Once(session, path + "/once"), lambda it: it.call(lambda grant: b"")),
            (zkl.Member(nobody, path + "/group", "me"), zkl.Member.wait),
            (nobody, zkl.Session.wait),
        ):
            caught = []
            thread = threading.Thread(target=lambda: caught.append(raises(zkl.Closed, "ECLOSED", wait, object_)))
            thread.start()
            while all(call.needs() for call in list(object_._c._calls)):
                os.sched_yield()
            object_.close()
            thread.join()
            assert caught, object_
            raises(zkl.Closed, "ECLOSED", wait, object_)
            step()


def closed_while_used(session, other, path):
    """close() waits for calls that have begun, and ends those that wait then."""
    mine, lock, order = zkl.Session("127.0.0.1:1", log=lambda line: None), zkl.Mutex(session, path), []

    def slowly(pointer, *rest):
        begun.set()
        while not object_._c.closed:
            os.sched_yield()
        for _ in range(1000):
            os.sched_yield()
        order.append("used")
        if rest:
            _library.lib.zkl_mutex_lock(pointer, *rest)

    with zkl.Mutex(other, path):
        for object_, use in (
            (mine, lambda: mine._c.use(slowly)),
            (lock, lambda: raises(zkl.Closed, "ECLOSED", lock._acquired, slowly, None)),
        ):
            begun = threading.Event()
            thread = threading.Thread(target=use)
            thread.start()
            begun.wait()
            object_.close()
            order.append("closed")
            thread.join()
    assert order == ["used", "closed"] * 2, order


def fenced_while_released(session, other, path):
    """A grant is released behind the call of another thread that needs it, and is over before for everybody else."""
    grant = zkl.Semaphore(session, path, 1).acquire()
    begun, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=grant._c.ask, args=(lambda _: (begun.set(), done.wait()),))
    thread.start()
    begun.wait()
    grant.release()
    assert grant.state == zkl.State.RELEASED and grant.remaining() == 0
    raises(zkl.Busy, "EBUSY", zkl.Semaphore(other, path).acquire, timeout=0)
    done.set()
    thread.join()
    session.flush(HOUR)
    zkl.Semaphore(other, path).acquire(timeout=0).release()


def closed_while_asking(session, other, path):
    """close() of an election does not wait for the servers that another thread asks who leads."""
    lib, election, heard = _library.lib, zkl.Election(session, path), []
    begun, done, ask = threading.Event(), threading.Event(), lib.zkl_election_leader
    lib.zkl_election_leader = lambda *rest: (begun.set(), done.wait(), ask(*rest))[2]
    thread = threading.Thread(target=lambda: heard.append(election.leader()))
    thread.start()
    begun.wait()
    election.close()
    done.set()
    thread.join()
    lib.zkl_election_leader = ask
    assert heard == [None]


CASES = (errors, bad_arguments, options, functions, raised, inside, closed, closed_inside, left_open,
         left_beside_threads, closed_beside_threads, closed_while_waiting, closed_while_used, fenced_while_released,
         closed_while_asking, claimed, logged, stats, credentials)
