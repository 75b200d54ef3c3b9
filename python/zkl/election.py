"""Leader election: the right to lead is a grant, and a term lasts as long as that."""

import ctypes
from ctypes import byref, c_uint64, c_void_p
from typing import Any, Callable, NamedTuple, Optional, Tuple

from . import _c
from ._c import Candidacy, ElectionEvent, Layout, Parents
from ._library import Handle, called, drop, error_at, error_of, keep, lib, ms, new, options, said, text
from .errors import Code, Error
from .grant import Grant, OwnedGrant, acquired, begun, taken
from .session import Session, Watch

__all__ = ["Candidacy", "Election", "ElectionEvent", "ElectionStatus", "Layout", "Leader"]


class Leader(NamedTuple):
    """As zkl_leader in C. data None: nothing was proclaimed in this term."""

    token: int
    id: str
    node: str
    data: Optional[bytes]


class ElectionStatus(NamedTuple):
    candidacy: Candidacy
    ahead: int
    token: int
    terms: int
    last: Optional[Error]


class Election(Handle):
    """A candidate; without an id, an observer of who leads."""

    def __init__(
        self,
        session: Session,
        path: str,
        id: Optional[str] = None,
        *,
        layout: Layout = Layout.LATCH,
        parents: Parents = Parents.CONTAINER,
        once: bool = False,
        priority: int = 0,
        yield_: bool = False,
    ) -> None:
        members = options(
            _c.ElectionOptions,
            layout=layout,
            parents=parents,
            once=once,
            priority=priority,
            **{"yield": yield_},
        )
        handle = new(session._c.use, lib.zkl_election_new, text(path), text(id), members)
        super().__init__(handle, lib.zkl_election_free)
        self.session = session

    def campaign(self, timeout: Optional[float] = None) -> OwnedGrant:
        """Gives the grant of a term when this candidate leads."""
        return taken(self.session, self._c.wait, lib.zkl_election_campaign, ms(timeout))

    async def campaign_async(self, timeout: Optional[float] = None) -> OwnedGrant:
        return await acquired(self.session, self._c.use, lib.zkl_election_campaign_async, ms(timeout))

    def start(self, function: Callable[[ElectionEvent, Optional[Grant], Optional[Error]], None]) -> None:
        """Begins to campaign, and calls function(event, grant, error) as zkl_election_start() does. error is of
        FAILED and STOPPED. The election goes on without a reference to its object."""
        session, deliver = self.session, self.session._call
        term: Optional[Grant] = None

        def call(_: Any, number_of_event: int, handle: Optional[int], error: Any) -> None:
            nonlocal term
            event = ElectionEvent(number_of_event)
            if event == ElectionEvent.LEADING:
                term = Grant(session, c_void_p(handle))
            try:
                deliver(function, event, term if handle else None, error_at(error))
            finally:
                if event in (ElectionEvent.LOST, ElectionEvent.RESIGNED) and term:
                    term._end()
                    term = None
                if event == ElectionEvent.STOPPED:
                    drop(number)

        number = keep(call, self)
        try:
            self._c.use(lib.zkl_election_start, called(_c.ElectionFn), number)
        except BaseException:
            drop(number)
            raise

    def resign(self) -> None:
        """Ends the term, the campaign, or what start() began."""
        self._c.use(lib.zkl_election_resign)

    def step_down(self) -> None:
        """Ends the term of a started election: see zkl_election_yield()."""
        self._c.use(lib.zkl_election_yield)

    def status(self) -> ElectionStatus:
        status = options(_c.ElectionStatus)
        self._c.use(lib.zkl_election_get_status, byref(status))
        last = error_of(status.last) if status.last.code else None
        return ElectionStatus(Candidacy(status.candidacy), status.ahead, status.token, status.terms, last)

    def leader(self) -> Optional[Tuple[int, str]]:
        """(token, id) of the first candidate; None: nobody leads."""
        id, token = ctypes.create_string_buffer(4096), c_uint64()
        while True:
            try:
                self._c.ask(lib.zkl_election_leader, id, len(id), byref(token))
                return token.value, said(id.value)
            except Error as error:
                if error.code == Code.ENOENT:
                    return None
                if error.code != Code.ERANGE:
                    raise
            id = ctypes.create_string_buffer(2 * len(id))

    def proclaim(self, data: bytes, timeout: Optional[float] = None) -> None:
        """Publishes the leader's data: see zkl_election_proclaim()."""
        self._c.ask(lib.zkl_election_proclaim, data, len(data), ms(timeout))

    async def proclaim_async(self, data: bytes, timeout: Optional[float] = None) -> None:
        function = lib.zkl_election_proclaim_async
        await begun(self._c.use, function, data, len(data), ms(timeout), called(_c.MultiFn))

    def watch(self, function: Callable[[Optional[Leader]], None]) -> Watch:
        """Calls function(leader) as zkl_election_watch() does; None: nobody leads."""
        deliver = self.session._call

        def call(pointer: Any) -> None:
            one = pointer[0]
            data = ctypes.string_at(one.data, one.size) if one.data else None
            leader = Leader(one.token, said(one.id), said(one.node), data) if one.token else None
            deliver(function, leader)

        number = keep(call, self)
        return Watch(self.session, number, self._c.use, lib.zkl_election_watch, called(_c.LeaderFn), number)
