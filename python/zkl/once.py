"""Work that is done once by all processes together, as zkl_once(3) describes it."""

import asyncio
import ctypes
from ctypes import POINTER, byref, c_char_p
from typing import Any, Callable, NamedTuple, Optional

from . import _c
from ._c import Parents
from ._library import Handle, lib, ms, new, options, said, text
from .errors import Error
from .grant import Grant, acquired, taken
from .session import Session

__all__ = ["Once", "Run"]


class Run(NamedTuple):
    """A run that was completed. begun and due are seconds since 1970 by the servers' clocks; due None: after a reset.
    calendar, with its zone, and instant are None without a calendar."""

    begun: float
    due: Optional[float]
    token: int
    name: str
    result: bytes
    calendar: Optional[str] = None
    instant: Optional[float] = None


class Once(Handle):
    """The work at path. The parameters are the options of zkl_once_new(); period, slack and late are in seconds."""

    def __init__(
        self,
        session: Session,
        path: str,
        *,
        name: Optional[str] = None,
        period: float = 0,
        slack: float = 0,
        calendar: Optional[str] = None,
        zone: Optional[str] = None,
        late: float = 0,
        parents: Parents = Parents.CONTAINER,
    ) -> None:
        members = options(
            _c.OnceOptions,
            name=name,
            period_ms=ms(period),
            slack_ms=ms(slack),
            calendar=calendar,
            zone=zone,
            late_ms=ms(late),
            parents=parents,
        )
        super().__init__(new(session._c.use, lib.zkl_once_new, text(path), members), lib.zkl_once_free)
        self.session = session

    def call(self, function: Callable[[Grant], Optional[bytes]], timeout: Optional[float] = None) -> Optional[Run]:
        """Runs function(grant) as zkl_once_call() does, and records what it returns. Gives the run that was recorded
        last; None: it was reset since."""
        try:
            grant = taken(self.session, self._c.wait, lib.zkl_once_begin, ms(timeout))
        except Error as error:
            return self._found(error)
        with grant:
            self._end(grant, function(grant))
        return self.done()

    async def call_async(
        self, function: Callable[[Grant], Any], timeout: Optional[float] = None
    ) -> Optional[Run]:
        """The same for asyncio: function is a coroutine function."""
        loop = asyncio.get_running_loop()
        try:
            grant = await acquired(self.session, self._c.use, lib.zkl_once_begin_async, ms(timeout))
        except Error as error:
            return await loop.run_in_executor(None, self._found, error)
        with grant:
            result = await function(grant)
            await loop.run_in_executor(None, self._end, grant, result)
        return await loop.run_in_executor(None, self.done)

    def done(self, timeout: Optional[float] = 0) -> Optional[Run]:
        """The run that was recorded last, or None."""
        run = POINTER(_c.OnceRun)()
        try:
            self._c.ask(lib.zkl_once_done, ms(timeout), byref(run))
        except Error as error:
            if error.code != _c.Code.ENOENT:
                raise
            return None
        try:
            one = run[0]
            result = ctypes.string_at(one.result, one.size)
            due = one.due_ms / 1000 if one.due_ms else None
            calendar = said(one.calendar) if one.calendar else None
            instant = one.instant_ms / 1000 if calendar else None
            return Run(one.begun_ms / 1000, due, one.token, said(one.name), result, calendar, instant)
        finally:
            lib.zkl_once_run_free(run)

    def reset(self, timeout: Optional[float] = 0) -> None:
        """Deletes the record: see zkl_once_reset()."""
        self._c.ask(lib.zkl_once_reset, ms(timeout))

    def _found(self, error: Error) -> Optional[Run]:
        if error.code != _c.Code.EEXIST:
            raise error
        return self.done()

    def _end(self, grant: Grant, result: Optional[bytes]) -> None:
        rest = c_char_p(result), len(result or b""), 0
        grant._ask(lambda own: self._c.ask(lib.zkl_once_end, own, *rest))
