"""The contenders of a path, for people and monitoring: never base a decision on them."""

import weakref
from ctypes import c_void_p
from typing import Callable, NamedTuple, Optional

from . import _c
from ._c import Client, Kind
from ._library import Pointer, Snapshot, called, keep, lib, ms, new, options, said, text
from .session import Session, Watch

__all__ = ["Client", "Contender", "Kind", "Queue", "break_contender", "read_queue", "revoke", "watch_queue"]


class Contender(NamedTuple):
    """As zkl_contender in C."""

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
    """The contenders of a path as read, the first in line first."""

    def __init__(self, handle: c_void_p) -> None:
        self._c = Pointer("Queue", lib.zkl_queue_free, handle)
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
        weakref.finalize(self, self._c.close)  # not before: the end of the program frees it, too


def read_queue(
    session: Session, path: str, *, max_nodes: int = 0, previous: Optional[Queue] = None, timeout: Optional[float] = 0
) -> Queue:
    """The contenders of path. max_nodes and previous are options of zkl_queue_read()."""

    def read(before: Optional[c_void_p]) -> Queue:
        members = options(_c.QueueOptions, max_nodes=max_nodes, previous=before)
        return Queue(new(session._c.wait, lib.zkl_queue_read, text(path), members, ms(timeout)))

    return previous._c.ask(read) if previous is not None else read(None)


def revoke(session: Session, path: str, node: Optional[str] = None, timeout: Optional[float] = 0) -> Queue:
    """Asks a contender, or all that hold, to give way: see zkl_queue_revoke(). Returns those that were asked."""
    return Queue(new(session._c.wait, lib.zkl_queue_revoke, text(path), text(node), ms(timeout)))


def break_contender(session: Session, path: str, contender: Contender, timeout: Optional[float] = 0) -> None:
    """Removes by force the node of a contender: see zkl_queue_break()."""
    session._c.wait(lib.zkl_queue_break, text(path), text(contender.node), contender.token, ms(timeout))


def watch_queue(session: Session, path: str, function: Callable[[], None]) -> Watch:
    """Calls function() when the queue may have changed: see zkl_queue_watch()."""
    deliver = session._call
    number = keep(lambda: deliver(function))
    return Watch(session, number, session._c.use, lib.zkl_queue_watch, text(path), called(_c.QueueFn), number)
