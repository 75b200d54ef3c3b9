"""Sessions with the servers, as zkl_session(3) describes them."""

import asyncio
import atexit
import contextlib
import os
import threading
import weakref
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, NamedTuple, Optional, Set, Tuple

from . import _c
from ._c import LogLevel, Outage, SessionEvent
from ._library import Pointer, called, drop, fill, keep, lib, ms, new, options, said, text
from .errors import Closed, Code, made
from .stats import Stats, rendered

if TYPE_CHECKING:
    from .lock import _Reentrant

__all__ = ["AsyncSession", "Claim", "LogLevel", "LogRecord", "Outage", "Session", "SessionEvent", "Watch",
           "end_session"]


class LogRecord(NamedTuple):
    """A line of the log; zkl/session.h lists the events."""

    level: LogLevel
    event: str
    session_id: int
    path: Optional[str]
    text: str
    suppressed: int


class Claim(NamedTuple):
    """What end_session() needs of a session: keep it secret."""

    id: int
    password: bytes


def _log(deliver: Callable[..., None], function: Callable[[LogRecord], None]) -> int:
    def log(record: Any) -> None:
        line = record[0]
        path = None if line.path is None else said(line.path)
        level = LogLevel(line.level)
        deliver(function, LogRecord(level, said(line.event), line.session_id, path, said(line.text), line.suppressed))

    return keep(log)


def _access(
    timeout: float,
    credentials: Iterable[Tuple[str, str]],
    tls_ca: Optional[str],
    tls_cert: Optional[str],
    tls_key: Optional[str],
) -> Dict[str, Any]:
    """Options that are needed to open a session, or to take one up."""
    pairs = [_c.Credential(text(scheme), text(auth)) for scheme, auth in credentials]
    return {
        "session_timeout_ms": ms(timeout),
        "credentials": (_c.Credential * len(pairs))(*pairs),
        "credential_count": len(pairs),
        "tls_ca": tls_ca,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }


def _directly(function: Callable[..., None], *arguments: Any) -> None:
    function(*arguments)


def _in_loop(loop: asyncio.AbstractEventLoop) -> Callable[..., None]:
    """Callbacks come while the loop's thread dispatches, and when another one closes the session."""
    own = threading.get_ident()

    def call(function: Callable[..., None], *arguments: Any) -> None:
        if threading.get_ident() == own:
            function(*arguments)
        else:
            loop.call_soon_threadsafe(function, *arguments)

    return call


# Sessions that are open, or have not told their end. Garbage is collected in any thread, under any lock, and to close
# waits for callbacks.
_open: Set["Session"] = set()
_leaving = False  # the program ends, and no more are opened


@atexit.register  # while there is an interpreter for the callbacks
def _close_all() -> None:
    global _leaving  # pylint: disable=global-statement
    _leaving = True
    for session in list(_open):
        for lock in list(session._lenders):
            lock._leave()
        session.close()
        session._over.wait()


os.register_at_fork(after_in_child=_open.clear)


class Session:
    """A session, closed at the end of a with block, by close(), or at the end of the program. timeout and tick are in
    seconds; credentials are pairs of a scheme and "user:password"; log gets LogRecords (None: lines go to
    stderr). Callbacks run one at a time, on a thread of the library, and must not block.
    """

    def __init__(
        self,
        connect: str,
        timeout: float = 10,
        *,
        acl: Optional[str] = None,
        log: Optional[Callable[[LogRecord], None]] = None,
        log_level: LogLevel = LogLevel.WARN,
        tick: float = 0,
        drift_permille: int = 0,
        credentials: Iterable[Tuple[str, str]] = (),
        tls_ca: Optional[str] = None,
        tls_cert: Optional[str] = None,
        tls_key: Optional[str] = None,
        fixed_servers: bool = False,
    ) -> None:
        self._call = self._caller()
        self._line: Optional[int] = None
        self._watches: Set["Watch"] = set()
        self._lenders: "weakref.WeakSet[_Reentrant]" = weakref.WeakSet()
        self._ends, self._over = ["closed"], threading.Event()
        lines = {}
        if log:
            self._line = _log(self._call, log)
            lines = {"log": called(_c.LogFn), "log_data": self._line}
        access = _access(timeout, credentials, tls_ca, tls_cert, tls_key)
        self._c = Pointer("Session", self._close)
        _open.add(self)
        try:
            self._c.use(
                self._begin,
                text(connect),
                options(
                    _c.SessionOptions,
                    acl=acl,
                    log_level=log_level,
                    tick_ms=ms(tick),
                    drift_permille=drift_permille,
                    fixed_servers=fixed_servers,
                    dispatch=self._dispatch,
                    **access,
                    **lines,
                ),
            )
        except BaseException:
            drop(self._line)
            self._ends.clear()
            self._ended()
            raise
        self._attach()

    _dispatch = False

    def _caller(self) -> Callable[..., None]:
        """Returns what calls a function that a user gave."""
        return _directly

    def _attach(self) -> None:
        """Attaches the session to what dispatches its callbacks."""

    def _begin(self, _: Any, connect: Optional[bytes], members: Any) -> None:
        if _leaving:
            raise made(Code.ECLOSED, "", "the program ends")
        handle = c_void_p()
        lib.zkl_session_open(byref(handle), connect, members, None)
        self._c.value = handle
        self._hear(handle, lambda event, id: None)

    def _hear(self, handle: Optional[c_void_p], tell: Callable[[int, int], None]) -> None:
        def call(_: Any, event: int, id: int) -> None:
            try:
                tell(event, id)
            finally:
                if event == SessionEvent.CLOSED:
                    drop(number)
                    self._ended()

        number = keep(call)
        self._ends.append("told")
        try:
            lib.zkl_session_on_change(handle, called(_c.SessionFn), number)
        except BaseException:
            drop(number)
            self._ended()
            raise

    def close(self) -> None:
        """Ends the session: see zkl_session_close(). Any thread may close, while others use the session."""
        self._c.close()

    def _close(self, handle: Optional[c_void_p]) -> None:
        lib.zkl_session_close(handle)
        for watch in list(self._watches):
            watch.close()
        drop(self._line)
        self._ended()

    def _ended(self) -> None:
        """One of its ends has come: what closes has returned, which in a callback does not wait, or a function was told
        the last event."""
        del self._ends[:1]
        if not self._ends:
            _open.discard(self)
            self._over.set()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    @property
    def id(self) -> int:
        """The id of the present ZooKeeper session; 0: there is none."""
        return int(self._c.use(lib.zkl_session_id))

    @property
    def timeout(self) -> float:
        """The session timeout in seconds: see zkl_session_timeout_ms()."""
        return int(self._c.use(lib.zkl_session_timeout_ms)) / 1000

    @property
    def outage(self) -> Outage:
        """Why there is no connection."""
        return Outage(self._c.use(lib.zkl_session_outage))

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits for a connection: see zkl_session_wait()."""
        self._c.wait(lib.zkl_session_wait, ms(timeout))

    def flush(self, timeout: Optional[float] = None) -> None:
        """Waits until what was released is deleted at the servers: see zkl_session_flush()."""
        self._c.wait(lib.zkl_session_flush, ms(timeout))

    def set_servers(self, connect: str) -> None:
        """Takes another list of servers of the same ensemble: see zkl_session_set_servers()."""
        self._c.use(lib.zkl_session_set_servers, text(connect))

    def claim(self) -> Claim:
        """What another process needs to end the present ZooKeeper session after the death of this one."""
        claim = _c.SessionClaim()
        self._c.use(lib.zkl_session_get_claim, byref(claim))
        return Claim(claim.id, bytes(claim.password))

    def stats(self) -> Stats:
        """What the session has done, in numbers."""
        stats = options(Stats)
        self._c.use(lib.zkl_session_stats, byref(stats))
        return stats  # type: ignore[no-any-return]

    def prometheus(self, **labels: str) -> str:
        """The same, and metrics of paths, in Prometheus' text format, each metric with the labels: see
        zkl_session_prometheus()."""
        return rendered(lambda *rest: self._c.use(lib.zkl_session_prometheus, *rest), labels)

    def on_change(self, function: Callable[[SessionEvent, int], None]) -> None:
        """Calls function(event, id of the ZooKeeper session) at each event: see zkl_session_on_change()."""
        deliver = self._call
        self._c.use(self._hear, lambda event, id: deliver(function, SessionEvent(event), id))


class AsyncSession(Session):
    """A session for asyncio, to be used by "async with" in a coroutine. Its callbacks run in the loop's thread."""

    _dispatch = True

    def _caller(self) -> Callable[..., None]:
        self._loop = asyncio.get_running_loop()
        return _in_loop(self._loop)

    def _attach(self) -> None:
        self._fd = self._c.use(lib.zkl_session_fd)
        self._loop.add_reader(self._fd, self._serve)

    def _serve(self) -> None:
        with contextlib.suppress(Closed):
            self._c.wait(lib.zkl_session_dispatch)

    def close(self) -> None:
        """Closes, which blocks the loop: aclose() does not."""
        self._detach()
        super().close()

    async def aclose(self) -> None:
        if not self._c.closed:
            self._detach()
            await asyncio.to_thread(super().close)

    def _detach(self) -> None:
        """A forked child shares the parent's epoll: what it removes there, the parent loses."""
        if not (self._c.closed or self._c.inherited or self._loop.is_closed()):
            self._loop.remove_reader(self._fd)

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()


class Watch:
    """What reports changes. It ends with its session, and at the end of a with block."""

    def __init__(self, session: Session, number: int, *begin: Any) -> None:
        self._session, self._number = session, number
        try:
            session._c.use(self._begin, begin)
        except BaseException:
            drop(number)
            raise

    def _begin(self, _: Any, begin: Tuple[Any, ...]) -> None:
        self._c = Pointer("Watch", lib.zkl_watch_free, new(*begin))
        self._session._watches.add(self)  # before the session closes

    def close(self) -> None:
        """Ends it: see zkl_watch_free()."""
        self._c.close()
        drop(self._number)
        self._session._watches.discard(self)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def end_session(
    connect: str,
    claim: Claim,
    timeout: float = 10,
    *,
    session_timeout: float = 10,
    credentials: Iterable[Tuple[str, str]] = (),
    tls_ca: Optional[str] = None,
    tls_cert: Optional[str] = None,
    tls_key: Optional[str] = None,
) -> None:
    """Ends the session of another process, which is dead, by its claim: see zkl_session_end(). timeout limits the wait
    for the servers. The rest is what that process gave to its Session, whose timeout is session_timeout here."""
    password = (_c.SessionClaim * 1)()
    fill(password[0], id=claim.id)
    password[0].password[:] = claim.password
    access = _access(session_timeout, credentials, tls_ca, tls_cert, tls_key)
    lib.zkl_session_end(text(connect), options(_c.SessionOptions, **access), password, ms(timeout))
