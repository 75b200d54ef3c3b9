"""The contenders of a path, for people and monitoring: never base a decision on it."""

import weakref
from ctypes import c_void_p
from typing import Callable, NamedTuple, Optional

from . import _c
from ._c import Client, Kind
from ._library import Snapshot, called, keep, lib, ms, new, options, said, text
from .session import Session, Watch

__all__ = ["Client", "Contender", "Kind", "Queue", "break_contender", "read_queue", "revoke", "watch_queue"]


class Contender(NamedTuple):
    """One contender; owner is its payload. zkl/queue.h says what can be known from names."""

    node: str
    owner: str
    number: int
    token: int
    session_id: int
    ctime: float
    holds: bool
    kind: Kind
    client: Client
    retains: bool


class Queue(Snapshot[Contender]):
    """The contenders of a path at one time, the first in line first."""

    def __init__(self, handle: c_void_p) -> None:
        self._handle = handle
        weakref.finalize(self, lib.zkl_queue_free, handle)
        super().__init__([])
        for i in range(lib.zkl_queue_count(handle)):
            one = lib.zkl_queue_get(handle, i)[0]
            self._items.append(
                Contender(
                    said(one.node),
                    said(one.owner),
                    one.number,
                    one.token,
                    one.session_id,
                    one.ctime_ms / 1000,
                    bool(one.holds),
                    Kind(one.kind),
                    Client(one.client),
                    bool(one.retains),
                )
            )


def read_queue(
    session: Session, path: str, *, max_nodes: int = 0, previous: Optional[Queue] = None, timeout: Optional[float] = 0
) -> Queue:
    """The contenders of path. The first max_nodes of them are read, the others known by name only; what was read for
    previous is not read again."""
    members = options(_c.QueueOptions, max_nodes=max_nodes, previous=previous and previous._handle)
    return Queue(new(lib.zkl_queue_read, session._c, text(path), members, ms(timeout)))


def revoke(session: Session, path: str, node: Optional[str] = None, timeout: Optional[float] = 0) -> Queue:
    """Asks a contender, or all that hold, to give way. Returns those that were asked."""
    return Queue(new(lib.zkl_queue_revoke, session._c, text(path), text(node), ms(timeout)))


def break_contender(session: Session, path: str, contender: Contender, timeout: Optional[float] = 0) -> None:
    """Removes by force the node of a contender that is known to be dead."""
    lib.zkl_queue_break(session._c, text(path), text(contender.node), contender.token, ms(timeout))


def watch_queue(session: Session, path: str, function: Callable[[], None]) -> Watch:
    """Calls function() when the queue may have changed."""
    deliver = session._call
    number = keep(lambda: deliver(function))
    arguments = session._c, text(path), called(_c.QueueFn), number
    return Watch(session, number, lambda ret: lib.zkl_queue_watch(ret, *arguments))
