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
    """The part of a program in the shards of a group: see zkl_shards_start(). function(event, shard, grant, error) is
    called at each event. grant is the OwnedGrant of GRANTED. Nothing else refers to it: keep it until you release it.
    error is of FAILED and STOPPED. close() leaves the group."""

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
