"""Barriers, as zkl_barrier(3) describes them."""

from typing import Optional

from . import _c
from ._c import Parents
from ._library import Handle, called, lib, ms, new, options, text
from .grant import begun
from .session import Session

__all__ = ["Barrier", "DoubleBarrier"]


class Barrier(Handle):
    """The barrier at path."""

    def __init__(
        self, session: Session, path: str, *, name: Optional[str] = None, parents: Parents = Parents.CONTAINER
    ) -> None:
        members = options(_c.BarrierOptions, name=name, parents=parents)
        super().__init__(new(session._c.use, lib.zkl_barrier_new, text(path), members), lib.zkl_barrier_free)

    def set(self, timeout: Optional[float] = 0) -> None:
        """Closes the barrier: see zkl_barrier_set()."""
        self._c.wait(lib.zkl_barrier_set, ms(timeout))

    def remove(self, timeout: Optional[float] = 0) -> None:
        """Opens the barrier: see zkl_barrier_remove()."""
        self._c.wait(lib.zkl_barrier_remove, ms(timeout))

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits until it is open."""
        self._c.wait(lib.zkl_barrier_wait, ms(timeout))

    async def wait_async(self, timeout: Optional[float] = None) -> None:
        await begun(self._c.use, lib.zkl_barrier_wait_async, ms(timeout), called(_c.DoneFn))


class DoubleBarrier(Handle):
    """One of the members that meet at path."""

    def __init__(
        self,
        session: Session,
        path: str,
        members: int,
        *,
        name: Optional[str] = None,
        parents: Parents = Parents.CONTAINER,
    ) -> None:
        chosen = options(_c.BarrierOptions, name=name, parents=parents)
        handle = new(session._c.use, lib.zkl_double_barrier_new, text(path), members, chosen)
        super().__init__(handle, lib.zkl_double_barrier_free)

    def enter(self, timeout: Optional[float] = None) -> None:
        """Waits for the others, and enters: see zkl_double_barrier_enter()."""
        self._c.wait(lib.zkl_double_barrier_enter, ms(timeout))

    async def enter_async(self, timeout: Optional[float] = None) -> None:
        await begun(self._c.use, lib.zkl_double_barrier_enter_async, ms(timeout), called(_c.DoneFn))

    def leave(self, timeout: Optional[float] = None) -> None:
        """Leaves, and waits for the others: see zkl_double_barrier_leave()."""
        self._c.wait(lib.zkl_double_barrier_leave, ms(timeout))

    async def leave_async(self, timeout: Optional[float] = None) -> None:
        await begun(self._c.use, lib.zkl_double_barrier_leave_async, ms(timeout), called(_c.DoneFn))
