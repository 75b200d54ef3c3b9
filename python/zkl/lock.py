"""Locks: mutexes and read-write locks, which acquire() gives to its thread; locks at several paths and
semaphores, whose grants belong to no thread."""

import contextlib
import ctypes
import threading
import weakref
from ctypes import byref, c_void_p
from typing import Any, Callable, Iterator, Optional, Sequence

from . import _c
from ._c import Parents, Peer, SemaphoreLayout
from ._library import Handle, closed, lib, ms, new, options, text
from .grant import Grant, OwnedGrant, acquired, taken
from .session import Session

__all__ = ["MultiLock", "Mutex", "Parents", "Peer", "RWLock", "Semaphore", "SemaphoreLayout"]


class _Lent:
    """What one thread was lent. The library ends it with the thread."""

    def __init__(self) -> None:
        self.grants: "weakref.WeakSet[Grant]" = weakref.WeakSet()

    def end(self, patience: bool = True) -> bool:
        """False: without patience, other threads' calls need one."""
        return all([grant._end(patience) for grant in list(self.grants)])

    def __del__(self) -> None:
        self.end()


class _Reentrant(Handle):
    """A lock that its thread may acquire again, and must release as often. close() releases what it has lent."""

    _depth: Callable[[c_void_p], int]
    _unlock: Callable[[c_void_p], int]

    def __init__(self, session: Session, handle: c_void_p, free: Callable[[c_void_p], None]) -> None:
        lent: "weakref.WeakSet[_Lent]" = weakref.WeakSet()

        def end(pointer: c_void_p) -> None:
            for one in list(lent):
                one.end()
            free(pointer)

        super().__init__(handle, end)
        self._free.atexit = False  # but by _leave()
        self.session, self._lent = session, lent
        self._thread = threading.local()
        session._lenders.add(self)

    def _acquired(self, lock: Callable[..., int], timeout: Optional[float]) -> Grant:
        return self._c.wait(self._lend, lock, ms(timeout))

    def _lend(self, pointer: c_void_p, lock: Callable[..., int], timeout_ms: int) -> Grant:
        handle = c_void_p()
        lock(pointer, timeout_ms, byref(handle))
        if self._c.closed:  # maybe while C waited: then what it gave is freed
            closed(type(self).__name__)
        grant = Grant(self.session, handle, self)
        lent = getattr(self._thread, "lent", None)
        if lent is None:
            lent = self._thread.lent = _Lent()
            self._lent.add(lent)
        lent.grants.add(grant)
        return grant

    def depth(self) -> int:
        """How many levels the calling thread still has to release."""
        return self._c.use(self._depth)

    def release(self) -> None:
        """Undoes one level. Raises Lost if the lock had been lost."""
        lent = getattr(self._thread, "lent", None)
        if lent is not None and self.depth() == 1:
            lent.end()
        self._c.use(self._unlock)

    def _leave(self) -> None:
        """Closes at the end of the program; but where another thread's call needs a grant, the session ends it."""
        if all([lent.end(False) for lent in list(self._lent)]):
            self.close()

    @contextlib.contextmanager
    def _held(self, acquire: Callable[[Optional[float]], Grant], timeout: Optional[float]) -> Iterator[Grant]:
        grant = acquire(timeout)
        try:
            yield grant
        except BaseException:
            with contextlib.suppress(Exception):
                self.release()
            raise
        self.release()


class Mutex(_Reentrant):
    """A mutex. "with mutex as grant:" holds it, and so does "with mutex.hold(timeout) as grant:". A block that ends
    without an exception although the lock was lost raises Lost."""

    _depth = staticmethod(lib.zkl_mutex_depth)
    _unlock = staticmethod(lib.zkl_mutex_unlock)

    def __init__(
        self,
        session: Session,
        path: str,
        *,
        name: Optional[str] = None,
        parents: Parents = Parents.CONTAINER,
        peer: Peer = Peer.CURATOR,
        retain: float = 0,
        fence64: bool = False,
    ) -> None:
        members = options(
            _c.MutexOptions, name=name, parents=parents, peer=peer, retain_ms=ms(retain), fence64=fence64
        )
        handle = new(session._c.use, lib.zkl_mutex_new, text(path), members)
        super().__init__(session, handle, lib.zkl_mutex_free)

    def acquire(self, timeout: Optional[float] = None) -> Grant:
        """Gives the grant, lent to this thread until its last release(). While the main thread waits, Python handles no
        signal."""
        return self._acquired(lib.zkl_mutex_lock, timeout)

    def hold(self, timeout: Optional[float] = None) -> "contextlib._GeneratorContextManager[Grant]":
        """Holds the lock during a with block."""
        return self._held(self.acquire, timeout)

    def __enter__(self) -> Grant:
        return self.acquire()

    def __exit__(self, _kind: Any, *_: Any) -> None:
        with contextlib.suppress(Exception) if _kind else contextlib.nullcontext():
            self.release()

    def give_up(self) -> None:
        """Releases what is retained and not in use: see zkl_mutex_yield()."""
        self._c.use(lib.zkl_mutex_yield)

    async def acquire_async(self, timeout: Optional[float] = None) -> OwnedGrant:
        """Acquires the lock by a grant that belongs to no thread."""
        return await acquired(self.session, self._c.use, lib.zkl_mutex_lock_async, ms(timeout))


class RWLock(_Reentrant):
    """A read-write lock: readers (shared) hold it together, a writer alone."""

    _depth = staticmethod(lib.zkl_rwlock_depth)
    _unlock = staticmethod(lib.zkl_rwlock_unlock)

    def __init__(
        self, session: Session, path: str, *, name: Optional[str] = None, parents: Parents = Parents.CONTAINER
    ) -> None:
        members = options(_c.MutexOptions, name=name, parents=parents)
        handle = new(session._c.use, lib.zkl_rwlock_new, text(path), members)
        super().__init__(session, handle, lib.zkl_rwlock_free)

    def acquire(self, timeout: Optional[float] = None) -> Grant:
        """Acquires the lock to write."""
        return self._acquired(lib.zkl_rwlock_lock, timeout)

    def acquire_shared(self, timeout: Optional[float] = None) -> Grant:
        """Acquires the lock to read."""
        return self._acquired(lib.zkl_rwlock_lock_shared, timeout)

    def hold(self, timeout: Optional[float] = None) -> "contextlib._GeneratorContextManager[Grant]":
        return self._held(self.acquire, timeout)

    def hold_shared(self, timeout: Optional[float] = None) -> "contextlib._GeneratorContextManager[Grant]":
        return self._held(self.acquire_shared, timeout)

    async def acquire_async(self, timeout: Optional[float] = None) -> OwnedGrant:
        return await acquired(self.session, self._c.use, lib.zkl_rwlock_lock_async, ms(timeout))

    async def acquire_shared_async(self, timeout: Optional[float] = None) -> OwnedGrant:
        return await acquired(self.session, self._c.use, lib.zkl_rwlock_lock_shared_async, ms(timeout))


class MultiLock(Handle):
    """Mutexes at several paths, all or none, with one grant: see zkl_multilock_lock()."""

    def __init__(
        self,
        session: Session,
        paths: Sequence[str],
        *,
        name: Optional[str] = None,
        parents: Parents = Parents.CONTAINER,
        peer: Peer = Peer.CURATOR,
    ) -> None:
        members = options(_c.MutexOptions, name=name, parents=parents, peer=peer)
        array = (ctypes.c_char_p * len(paths))(*map(text, paths))
        handle = new(session._c.use, lib.zkl_multilock_new, array, len(paths), members)
        super().__init__(handle, lib.zkl_multilock_free)
        self.session = session

    def acquire(self, timeout: Optional[float] = None) -> OwnedGrant:
        return taken(self.session, self._c.wait, lib.zkl_multilock_lock, ms(timeout))

    async def acquire_async(self, timeout: Optional[float] = None) -> OwnedGrant:
        return await acquired(self.session, self._c.use, lib.zkl_multilock_lock_async, ms(timeout))


class Semaphore(Handle):
    """A semaphore, as zkl_semaphore(3) describes it. With numbered, grant.parts has the numbers of permits."""

    def __init__(
        self,
        session: Session,
        path: str,
        limit: int = 0,
        *,
        name: Optional[str] = None,
        parents: Parents = Parents.CONTAINER,
        numbered: bool = False,
        layout: SemaphoreLayout = SemaphoreLayout.ZKL,
    ) -> None:
        members = options(
            _c.SemaphoreOptions, name=name, parents=parents, limit=limit, numbered=numbered, layout=layout
        )
        handle = new(session._c.use, lib.zkl_semaphore_new, text(path), members)
        super().__init__(handle, lib.zkl_semaphore_free)
        self.session = session

    def acquire(self, permits: int = 1, timeout: Optional[float] = None) -> OwnedGrant:
        """Acquires all of the permits, or none."""
        return taken(self.session, self._c.wait, lib.zkl_semaphore_acquire, permits, ms(timeout))

    async def acquire_async(self, permits: int = 1, timeout: Optional[float] = None) -> OwnedGrant:
        return await acquired(self.session, self._c.use, lib.zkl_semaphore_acquire_async, permits, ms(timeout))

    def get_limit(self, timeout: Optional[float] = 0) -> int:
        """The present limit."""
        limit = ctypes.c_int()
        self._c.ask(lib.zkl_semaphore_get_limit, ms(timeout), byref(limit))
        return limit.value

    def set_limit(self, limit: int, timeout: Optional[float] = 0) -> None:
        """Sets the limit of the path."""
        self._c.ask(lib.zkl_semaphore_set_limit, limit, ms(timeout))
