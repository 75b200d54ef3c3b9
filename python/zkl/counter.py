"""Counters: nodes whose data is a number, as Curator has it."""

from ctypes import byref, c_int64, c_void_p
from typing import Callable, Optional

from . import _c
from ._c import CounterWidth
from ._library import Handle, called, keep, lib, ms, new, text
from .grant import Grant
from .session import Session, Watch

__all__ = ["Counter", "CounterWidth"]


class Counter(Handle):
    """The number in the node at path, in 32 or 64 bits. fence: a grant of the same session; the number is written only
    while its node exists."""

    def __init__(self, session: Session, path: str, width: CounterWidth = CounterWidth.COUNTER_64) -> None:
        super().__init__(new(lib.zkl_counter_new, session._c, text(path), width), lib.zkl_counter_free)
        self.session = session

    def get(self, timeout: Optional[float] = 0) -> int:
        number = c_int64()
        lib.zkl_counter_get(self._c, ms(timeout), byref(number))
        return number.value

    def set(self, value: int, fence: Optional[Grant] = None, timeout: Optional[float] = 0) -> None:
        lib.zkl_counter_set(self._c, value, _fence(fence), ms(timeout))

    def add(self, delta: int, fence: Optional[Grant] = None, timeout: Optional[float] = 0) -> int:
        """The new number. Never adds twice."""
        number = c_int64()
        lib.zkl_counter_add(self._c, delta, _fence(fence), ms(timeout), byref(number))
        return number.value

    def compare_and_set(
        self, expected: int, value: int, fence: Optional[Grant] = None, timeout: Optional[float] = 0
    ) -> None:
        """Raises an Error of the code EVERSION if the number is not expected."""
        lib.zkl_counter_compare_and_set(self._c, expected, value, _fence(fence), ms(timeout))

    def watch(self, function: Callable[[int], None]) -> Watch:
        """Calls function(number) with the present number, and with each that is another one."""
        deliver = self.session._call
        number = keep(lambda value: deliver(function, value))
        arguments = self._c, called(_c.CounterFn), number
        return Watch(self.session, number, lambda ret: lib.zkl_counter_watch(ret, *arguments))


def _fence(grant: Optional[Grant]) -> Optional[c_void_p]:
    """A grant that has ended must not become none."""
    return None if grant is None else grant._c
