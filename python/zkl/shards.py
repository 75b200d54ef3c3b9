"""Shards: numbered work that the members of a group share."""

from ctypes import c_void_p
from typing import Any, Callable, Optional

from . import _c
from ._c import Parents, ShardsEvent
from ._library import Handle, called, drop, error_at, keep, lib, new, options, text
from .errors import Error
from .grant import OwnedGrant
from .session import Session

__all__ = ["Shards", "ShardsEvent"]


class Shards(Handle):
    """The part of a program in the shards 0 to count - 1 of the group at path, which it joins as the member id. Calls
    function(event, shard, grant, error). With GRANTED the shard is the program's until it releases that OwnedGrant,
    which no one else refers to: keep it. After ASKED finish what is under way and release it, after LOST stop at once
    and release it. error belongs to FAILED and STOPPED, which is the last event. close() leaves the group: ASKED comes
    for each shard that the program has and was not asked for before, and STOPPED when all are released. In an
    AsyncSession function is called in the loop's thread, and may make a task for each shard."""

    def __init__(
        self,
        session: Session,
        path: str,
        count: int,
        id: str,
        function: Callable[[ShardsEvent, int, Optional[OwnedGrant], Optional[Error]], None],
        *,
        data: Optional[str] = None,
        parents: Parents = Parents.CONTAINER,
        weight: int = 1,
    ) -> None:
        deliver = session._call

        def call(_: Any, number_of_event: int, pointer: Any) -> None:
            event, news = ShardsEvent(number_of_event), pointer[0]
            grant = OwnedGrant(session, c_void_p(news.grant)) if news.grant else None
            if event == ShardsEvent.STOPPED:
                drop(number)
            deliver(function, event, news.shard, grant, error_at(news.err))

        number = keep(call, self)
        members = options(_c.ShardsOptions, data=data, parents=parents, weight=weight)
        rest = text(path), count, text(id), called(_c.ShardsFn), number, members
        try:
            handle = new(session._c.use, lib.zkl_shards_start, *rest)
        except BaseException:
            drop(number)
            raise
        super().__init__(handle, lib.zkl_shards_free)
        self.session = session
