"""ZooKeeper locks and leaders for Python: libzkl by ctypes.

    with zkl.Session("zk1:2181,zk2:2181") as session:
        with session.mutex("/jobs/nightly").hold(timeout=10) as grant:
            grant.on_lost(lambda: stop.set())
            while work() and grant.remaining() > 5:
                store(item, fence=grant.fence)

A grant knows until when nobody else can get the lock, without asking a server: remaining() in
seconds, deadline() as an instant of CLOCK_BOOTTIME. Look at it before each action; callbacks tell
the same later. Times are in seconds; None is no limit, 0 does not wait for others. What fails raises
Error, with the code's name and the path.

Functions given to on_lost() and the like run on a thread of the library: they must not block, and
what they raise goes to sys.unraisablehook. A mutex belongs to the thread that locked it; other grants
may be used and released by any thread. In a forked child everything is closed: open a session there.
"""

import atexit
import contextlib
import ctypes
import itertools
import threading
import weakref
from ctypes import byref, c_uint64, c_void_p

from zkl_abi import (GRANT_FN, Deadline, ElectionOptions, Error, Lost, MutexOptions, NotAcquired,
                     SemaphoreOptions, SessionOptions, State, lib, ms, options_of)

__all__ = "Election Error Grant Lost Mutex NotAcquired OwnedGrant Semaphore Session State".split()

# ---- callbacks: C knows numbers, which mean nothing when the grant has ended ----

_calls, _numbers = {}, itertools.count(1)


@GRANT_FN
def _on_change(_handle, state, number):
    fn = _calls.pop(number, None) if state >= State.LOST else _calls.get(number)
    if fn:
        fn(State(state))


@GRANT_FN
def _on_end(_handle, state, number):
    if state >= State.LOST:
        _calls.pop(number, None)


@GRANT_FN
def _on_call(_handle, _state, number):
    fn = _calls.pop(number, None)
    if fn:
        fn()


class Grant:
    """The right to a lock, lent by a mutex until the thread's last release()."""

    def __init__(self, handle):
        self._handle = handle
        self.token, self.turn = lib.zkl_grant_token(handle), lib.zkl_grant_turn(handle)
        self.node = lib.zkl_grant_node(handle).decode()
        fence = ctypes.create_string_buffer(33)
        lib.zkl_grant_fence(handle, fence, len(fence))
        self.fence = fence.value.decode()  # token and turn: higher with each grant, also as text

    def _end(self):
        self._handle = None

    @property
    def state(self):
        return State(lib.zkl_grant_state(self._handle)) if self._handle else State.RELEASED

    def remaining(self):
        """For how many seconds nobody else can get the lock; 0: it was lost or released."""
        return lib.zkl_grant_remaining_ms(self._handle) / 1000

    def deadline(self):
        """That instant, by time.clock_gettime(time.CLOCK_BOOTTIME). It moves. Raises Lost at its end."""
        deadline = Deadline()
        lib.zkl_grant_deadline(self._handle, byref(deadline))
        return deadline.boottime_ns / 1e9

    def _register(self, what, c_function, fn):
        number = next(_numbers)
        _calls[number] = fn
        try:
            if c_function is _on_call:
                lib.zkl_grant_on_change(self._handle, _on_end, number)
            getattr(lib, "zkl_grant_on_" + what)(self._handle, c_function, number)
        except Error:
            _calls.pop(number, None)
            raise

    def on_change(self, fn):
        """Calls fn(state) at each change; the last one is LOST or RELEASED."""
        self._register("change", _on_change, fn)

    def on_lost(self, fn):
        """Calls fn() if the lock is lost."""
        self.on_change(lambda state: fn() if state == State.LOST else None)

    def on_wanted(self, fn):
        """Calls fn() once, when another contender waits."""
        self._register("wanted", _on_call, fn)

    def on_revoke(self, fn):
        """Calls fn() once, when somebody asks the holder to give way."""
        self._register("revoke", _on_call, fn)


class OwnedGrant(Grant):
    """A grant that is released by release(), by the end of a with block, or with its last reference."""

    def __init__(self, handle):
        super().__init__(handle)
        self._release = weakref.finalize(self, lib.zkl_grant_release, handle)

    def release(self):
        self._end()
        self._release()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


class _Handle:
    def __init__(self, kind, session, *arguments):
        handle = c_void_p()
        getattr(lib, f"zkl_{kind}_new")(byref(handle), session._handle, *arguments)
        self._handle = handle
        self._free = weakref.finalize(self, getattr(lib, f"zkl_{kind}_free"), handle)

    def close(self):
        """Frees the handle, and with it what a mutex holds. Owned grants stay."""
        self._handle = None
        self._free()

    def _acquire(self, function, *arguments):
        grant = c_void_p()
        function(self._handle, *arguments, byref(grant))
        return grant


class Mutex(_Handle):
    """A reentrant, fair, fenced mutex. It belongs to the thread that locked it."""

    def __init__(self, *arguments):
        super().__init__("mutex", *arguments)
        self._lent = {}  # by thread: what its last release() ends

    def acquire(self, timeout=None):
        """Returns the grant, lent until release(). Raises NotAcquired if somebody else holds."""
        grant = Grant(self._acquire(lib.zkl_mutex_lock, ms(timeout)))
        self._lent.setdefault(threading.get_ident(), weakref.WeakSet()).add(grant)
        return grant

    def release(self):
        """Undoes one level. Raises Lost if the lock had been lost: one level is undone all the same."""
        try:
            lib.zkl_mutex_unlock(self._handle)
        finally:
            if lib.zkl_mutex_depth(self._handle) == 0:
                for grant in self._lent.pop(threading.get_ident(), ()):
                    grant._end()

    def close(self):
        for grants in self._lent.values():
            for grant in grants:
                grant._end()
        super().close()

    @contextlib.contextmanager
    def hold(self, timeout=None):
        """Holds the lock during a with block. That it was lost is known from the grant."""
        grant = self.acquire(timeout)
        try:
            yield grant
        finally:
            with contextlib.suppress(Lost):
                self.release()


class Semaphore(_Handle):
    def __init__(self, *arguments):
        super().__init__("semaphore", *arguments)

    def acquire(self, permits=1, timeout=None):
        """Returns a grant of permits, all of them or none, to be used in a with block."""
        return OwnedGrant(self._acquire(lib.zkl_semaphore_acquire, permits, ms(timeout)))


class Election(_Handle):
    def __init__(self, *arguments):
        super().__init__("election", *arguments)

    def campaign(self, timeout=None):
        """Returns the grant of a term when this candidate leads; its end is the end of the term."""
        return OwnedGrant(self._acquire(lib.zkl_election_campaign, ms(timeout)))

    def leader(self):
        """Returns (token, id) of the one that leads, or None."""
        text, token = ctypes.create_string_buffer(4096), c_uint64()
        try:
            lib.zkl_election_leader(self._handle, text, len(text), byref(token))
        except Error as error:
            if error.name != "NOENT":
                raise
            return None
        return token.value, text.value.decode()


class Session:
    """A session with the servers, closed at the end of a with block or of the program. One is enough
    for all locks of a process. It does not wait for a server to be there: wait() does."""

    _open = weakref.WeakSet()

    def __init__(self, connect, timeout=10, **options):
        handle = c_void_p()
        options = options_of("session", SessionOptions, session_timeout_ms=ms(timeout), **options)
        lib.zkl_session_open(byref(handle), connect.encode(), options, None)
        self._handle = handle
        Session._open.add(self)

    def close(self):
        handle, self._handle = self._handle, None
        lib.zkl_session_close(handle)

    def wait(self, timeout=None):
        lib.zkl_session_wait(self._handle, ms(timeout))

    def flush(self, timeout=None):
        """Waits until what was released is deleted."""
        lib.zkl_session_flush(self._handle, ms(timeout))

    def mutex(self, path, **options):
        """options are members of zkl_mutex_options: name, peer, retain_ms…"""
        return Mutex(self, path.encode(), options_of("mutex", MutexOptions, **options))

    def semaphore(self, path, limit=0, **options):
        return Semaphore(self, path.encode(),
                         options_of("semaphore", SemaphoreOptions, limit=limit, **options))

    def election(self, path, candidate_id=None, **options):
        """Without candidate_id one may only ask who leads."""
        return Election(self, path.encode(), candidate_id and candidate_id.encode(),
                        options_of("election", ElectionOptions, **options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@atexit.register  # while there is an interpreter for the callbacks
def _close_all():
    for session in list(Session._open):
        session.close()
