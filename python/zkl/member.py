"""Groups: who is there, as zkl_member(3) describes it."""

import ctypes
import weakref
from ctypes import POINTER, byref, c_void_p
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from . import _c
from ._c import Loss, MemberEvent, MemberLayout, MembersEvent, Parents
from ._library import Handle, Pointer, Snapshot, called, drop, error_at, keep, lib, ms, new, options, said, text
from .errors import Error
from .grant import OwnedGrant, begun, taken
from .session import Session, Watch

__all__ = ["Member", "MemberEvent", "MemberInfo", "MemberLayout", "MemberNews", "Members", "MembersEvent",
           "read_members", "watch_members"]


class MemberNews(NamedTuple):
    """What comes with an event of a member, as zkl_member_news in C."""

    token: int
    again: bool
    loss: Loss
    session_id: int
    data: str
    error: Optional[Error]


class MemberInfo(NamedTuple):
    """A member as others see it. share: (count, weight), what its data say of shards, or None."""

    token: int
    id: str
    node: str
    data: bytes
    session_id: int
    ctime: float
    share: Optional[Tuple[int, int]]


def _info(pointer: Any) -> MemberInfo:
    one, share = pointer[0], _c.ShardsShare()
    says = lib.zkl_shards_share_of(pointer, byref(share))
    return MemberInfo(
        one.token,
        said(one.id),
        said(one.node),
        ctypes.string_at(one.data, one.size),
        one.session_id,
        one.ctime_ms / 1000,
        (share.count, share.weight) if says else None,
    )


class Member(Handle):
    """A member of the group at a path. function(event, news) is called at each event. The member goes on without a
    reference to its object."""

    def __init__(
        self,
        session: Session,
        path: str,
        id: str,
        data: bytes = b"",
        function: Optional[Callable[[MemberEvent, MemberNews], None]] = None,
        *,
        layout: MemberLayout = MemberLayout.GROUP,
        parents: Parents = Parents.CONTAINER,
    ) -> None:
        deliver = session._call

        def call(_: Any, number_of_event: int, pointer: Any) -> None:
            event, news = MemberEvent(number_of_event), pointer[0]
            if event == MemberEvent.LEFT:
                drop(number)
            error = error_at(news.err)
            made = MemberNews(news.token, bool(news.again), Loss(news.loss), news.session_id, said(news.data), error)
            if function:
                deliver(function, event, made)

        number = keep(call, self)
        members = options(_c.MemberOptions, layout=layout, parents=parents, fn=called(_c.MemberFn), fn_data=number)
        try:
            handle = new(session._c.use, lib.zkl_member_join, text(path), text(id), data, len(data), members)
        except BaseException:
            drop(number)
            raise
        super().__init__(handle, lib.zkl_member_free)
        self.session = session

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits until it has joined."""
        self._c.wait(lib.zkl_member_wait, ms(timeout))

    async def wait_async(self, timeout: Optional[float] = None) -> None:
        await begun(self._c.use, lib.zkl_member_wait_async, ms(timeout), called(_c.DoneFn))

    def update(self, data: bytes, timeout: Optional[float] = None) -> None:
        """Gives it other data: see zkl_member_update()."""
        self._c.wait(lib.zkl_member_update, data, len(data), ms(timeout))

    async def update_async(self, data: bytes, timeout: Optional[float] = None) -> None:
        function = lib.zkl_member_update_async
        await begun(self._c.use, function, data, len(data), ms(timeout), called(_c.DoneFn))

    def leave(self, timeout: Optional[float] = None) -> None:
        """Leaves, and waits until the node is deleted: see zkl_member_leave(). close() leaves without waiting."""
        self._c.wait(lib.zkl_member_leave, ms(timeout))

    async def leave_async(self, timeout: Optional[float] = None) -> None:
        await begun(self._c.use, lib.zkl_member_leave_async, ms(timeout), called(_c.DoneFn))

    def grant(self) -> OwnedGrant:
        """The grant of the membership as it is now: see zkl_member_grant()."""
        return taken(self.session, self._c.use, lib.zkl_member_grant)


class Members(Snapshot[MemberInfo]):
    """The members of a group as read, in the order of their ids."""

    def __init__(self, handle: c_void_p, free: Optional[Callable[[c_void_p], None]]) -> None:
        self._c = Pointer("Members", free, handle)
        super().__init__([_info(lib.zkl_members_get(handle, i)) for i in range(lib.zkl_members_count(handle))])

    def plan(self, count: int) -> List[Optional[MemberInfo]]:
        """For each shard below count, the member that should do its work; None: no member takes it. See
        zkl_shards_plan(). What watch_members() reports has a plan only during the call."""
        return self._c.use(self._plan, count)

    def _plan(self, handle: c_void_p, count: int) -> List[Optional[MemberInfo]]:
        owners = (POINTER(_c.MemberInfo) * count)()
        lib.zkl_shards_plan(owners, count, handle)
        known = {info.token: info for info in self._items}
        return [known[owner[0].token] if owner else None for owner in owners]


def read_members(
    session: Session, path: str, layout: MemberLayout = MemberLayout.GROUP, timeout: Optional[float] = 0
) -> Members:
    """The present members of the group at path."""
    handle = new(session._c.wait, lib.zkl_members_read, text(path), layout, ms(timeout))
    members = Members(handle, lib.zkl_members_free)
    weakref.finalize(members, members._c.close)
    return members


def watch_members(
    session: Session,
    path: str,
    function: Callable[[MembersEvent, Optional[MemberInfo], Optional[Members]], None],
    layout: MemberLayout = MemberLayout.GROUP,
) -> Watch:
    """Calls function(event, member, None) for each member that joins, leaves or changes, and function(ALL, None,
    members) after them: see zkl_members_watch()."""
    deliver = session._call

    def call(event: int, pointer: Any, handle: Optional[int]) -> None:
        everybody = Members(c_void_p(handle), None) if handle else None
        try:
            deliver(function, MembersEvent(event), _info(pointer) if pointer else None, everybody)
        finally:
            if everybody:
                everybody._c.close()

    number = keep(call)
    arguments = text(path), layout, called(_c.MembersFn), number
    return Watch(session, number, session._c.use, lib.zkl_members_watch, *arguments)
