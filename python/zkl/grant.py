"""Grants: the right to a lock, as zkl_grant(3) describes it."""

import asyncio
import contextlib
import ctypes
import itertools
import weakref
from ctypes import byref, c_void_p
from typing import Any, Callable, Iterator, NamedTuple, NoReturn, Optional, Sequence, Tuple

from . import _c, errors
from ._c import ChangeKind, Code, Loss, State
from ._library import Handle, Pointer, called, drop, error_at, fill, keep, lib, ms, said
from .session import Session

__all__ = ["Change", "ChangeKind", "Grant", "Loss", "OwnedGrant", "Part", "State"]


class Change(NamedTuple):
    """One change of a transaction, as zkl_change in C."""

    kind: ChangeKind
    path: str
    data: bytes = b""
    version: int = -1


class Part(NamedTuple):
    """A part of a grant: see zkl_grant_part(). slot: the number of a numbered permit."""

    token: int
    node: str
    slot: Optional[int] = None


def _parts(handle: c_void_p) -> Iterator[Part]:
    part = _c.Part()
    for i in itertools.count():
        try:
            lib.zkl_grant_part(handle, i, byref(part))
        except errors.Error as error:
            if error.code != Code.ENOENT:
                raise
            return
        yield Part(part.token, said(part.node), part.slot if part.slot >= 0 else None)


def _changes(changes: Sequence[Change]) -> Tuple[Any, int]:
    made = (_c.Change * len(changes))()
    for one, c in zip(changes, made):
        fill(c, kind=one.kind, version=one.version, path=one.path, size=len(one.data))
        c.data = ctypes.cast(ctypes.c_char_p(one.data), c_void_p)
    return made, len(made)


class Grant:
    """The right to a lock. What a mutex or a read-write lock gives a thread is lent until its last release(), that of a
    started election until the end of the term; others are OwnedGrants. fence is token and turn, as text that sorts."""

    def __init__(
        self,
        session: Session,
        handle: c_void_p,
        lender: Optional[Handle] = None,
        free: Optional[Callable[[c_void_p], None]] = None,
    ) -> None:
        self._session, self._call, self._lender = session, session._call, lender
        self._c = Pointer("Grant", free, handle)
        self._final, self._why = State.RELEASED, Loss.NONE
        self.token = int(lib.zkl_grant_token(handle))
        self.turn = int(lib.zkl_grant_turn(handle))
        self.session_id = int(lib.zkl_grant_session_id(handle))
        fence = ctypes.create_string_buffer(_c.FENCE_SIZE)
        lib.zkl_grant_fence(handle, fence, len(fence))
        self.fence = fence.value.decode()
        self.parts = tuple(_parts(handle))
        self.node = said(lib.zkl_grant_node(handle))

    def _end(self, patience: bool = True) -> bool:
        """Remembers how the grant ended, and lets C free it. False: another thread's call still needs it."""
        with contextlib.suppress(errors.Closed):
            self._c.use(self._remember)
        return self._c.close(patience)

    def _remember(self, handle: c_void_p) -> None:
        self._why = Loss(lib.zkl_grant_loss(handle))
        self._final = State.LOST if self._why else State.RELEASED

    def _use(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._unless_ended(self._c.use, function, *arguments)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._unless_ended(self._c.ask, function, *arguments)

    def _unless_ended(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except errors.Closed:
            if self._c.closed:
                self._ended()
            raise

    @property
    def state(self) -> State:
        """The state now."""
        try:
            return State(self._c.use(lib.zkl_grant_state))
        except errors.Closed:
            return self._final

    @property
    def loss(self) -> Loss:
        """Why it was lost."""
        try:
            return Loss(self._c.use(lib.zkl_grant_loss))
        except errors.Closed:
            return self._why

    def remaining(self) -> float:
        """How many seconds are left before the deadline."""
        try:
            return int(self._c.use(lib.zkl_grant_remaining_ms)) / 1000
        except errors.Closed:
            return 0

    def deadline(self) -> float:
        """The deadline, by time.clock_gettime(time.CLOCK_BOOTTIME); by CLOCK_MONOTONIC_RAW it may come before."""
        deadline = _c.Deadline()
        self._use(lib.zkl_grant_deadline, byref(deadline))
        return int(deadline.boottime_ns) / 1e9

    def _ended(self) -> NoReturn:
        if self._final == State.LOST:
            raise errors.made(Code.ELOST, self.node, "the grant was lost: " + said(lib.zkl_strloss(self._why)))
        raise errors.made(Code.EPERM, self.node, "the grant was released")

    def on_change(self, function: Callable[[State], None]) -> None:
        """Calls function(state) at each change: see zkl_grant_on_change()."""
        deliver = self._call

        def call(_: Any, state: int) -> None:
            if state >= State.LOST:
                drop(number)
            deliver(function, State(state))

        number = keep(call)
        try:
            self._use(lib.zkl_grant_on_change, called(_c.GrantFn), number)
        except errors.Error:
            drop(number)
            raise

    def on_lost(self, function: Callable[[], None]) -> None:
        """Calls function() if the lock is lost."""
        self.on_change(lambda state: function() if state == State.LOST else None)

    def _on_call(self, register: Any, function: Callable[[], None]) -> None:
        deliver = self._call

        def call(*_: Any) -> None:
            drop(number)
            deliver(function)

        number = keep(call)
        try:
            self.on_change(lambda state: drop(number) if state >= State.LOST else None)
            self._use(register, called(_c.GrantFn), number)
        except errors.Error:
            drop(number)
            raise

    def on_wanted(self, function: Callable[[], None]) -> None:
        """Calls function() as zkl_grant_on_wanted() does."""
        self._on_call(lib.zkl_grant_on_wanted, function)

    def on_revoke(self, function: Callable[[], None]) -> None:
        """Calls function() as zkl_grant_on_revoke() does."""
        self._on_call(lib.zkl_grant_on_revoke, function)

    def multi(self, changes: Sequence[Change], *, release: bool = False, timeout: Optional[float] = None) -> None:
        """Applies all changes or none, while the grant's node exists, and with release gives the lock back with them:
        see zkl_grant_multi()."""
        rest = (*_changes(changes), _c.MULTI_RELEASE * release, ms(timeout))
        self._unless_ended(self._c.wait, lib.zkl_grant_multi, *rest)

    async def multi_async(
        self, changes: Sequence[Change], *, release: bool = False, timeout: Optional[float] = None
    ) -> None:
        """The same for asyncio. If the task is cancelled the transaction goes on."""
        rest = (*_changes(changes), _c.MULTI_RELEASE * release, ms(timeout), called(_c.MultiFn))
        await begun(self._use, lib.zkl_grant_multi_async, *rest)


class OwnedGrant(Grant):
    """A grant that any thread may release: by release(), at the end of a with block, or with its last reference."""

    def __init__(self, session: Session, handle: c_void_p) -> None:
        super().__init__(session, handle, None, lib.zkl_grant_release)
        self._free = weakref.finalize(self, self._c.close)

    def release(self) -> None:
        """Does what zkl_grant_release() does."""
        self._end(patience=False)
        self._free()

    def __enter__(self) -> "OwnedGrant":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.release()
        if kind is None and self._final == State.LOST:
            self._ended()


# ---- acquisitions and other operations in a loop ----


def begun(call: Callable[..., int], *arguments: Any) -> "asyncio.Future[None]":
    """The future of an operation without a grant, which a call of a pointer begins by a function whose last parameters
    are fn and data, with fn given."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[None]" = loop.create_future()

    def settle(error: Optional[errors.Error]) -> None:
        if not future.done():
            future.set_exception(error) if error else future.set_result(None)

    def done(error: Any) -> None:
        drop(number)
        with contextlib.suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(settle, error_at(error))

    number = keep(done)
    try:
        call(*arguments, number)
    except BaseException:
        drop(number)
        raise
    return future


async def acquired(session: Session, call: Callable[..., int], *arguments: Any) -> OwnedGrant:
    """Waits for an acquisition that a call of a pointer begins by a function whose last parameters are fn, data and
    where to store the operation."""
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[OwnedGrant]" = loop.create_future()

    def settle(grant: Optional[OwnedGrant], error: Optional[errors.Error]) -> None:
        if future.done():
            if grant:
                grant.release()
        elif grant:
            future.set_result(grant)
        elif error:
            future.set_exception(error)

    def done(handle: Optional[int], error: Any) -> None:
        drop(number)
        grant = OwnedGrant(session, c_void_p(handle)) if handle else None
        try:
            loop.call_soon_threadsafe(settle, grant, error_at(error))
        except RuntimeError:  # the loop was closed
            if grant:
                grant.release()

    number = keep(done)
    operation = c_void_p()
    try:
        call(*arguments, called(_c.AcquiredFn), number, byref(operation))
    except BaseException:
        drop(number)
        raise
    try:
        return await future
    except asyncio.CancelledError:
        # The task may have been cancelled after the grant came.
        if future.done() and not future.cancelled() and not future.exception():
            future.result().release()
        raise
    finally:
        lib.zkl_op_cancel(operation)
        lib.zkl_op_free(operation)


def taken(session: Session, call: Callable[..., int], *arguments: Any) -> OwnedGrant:
    """Waits for an acquisition by a function whose last parameter is where to store the grant."""
    handle = c_void_p()
    call(*arguments, byref(handle))
    return OwnedGrant(session, handle)
