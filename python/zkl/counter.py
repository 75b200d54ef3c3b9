"""Counters: nodes whose data is a number, as zkl_counter(3) describes them."""

from ctypes import byref, c_int64
from typing import Any, Callable, Optional

from . import _c
from ._c import CounterWidth
from ._library import Handle, called, keep, lib, ms, new, text
from .grant import Grant
from .session import Session, Watch

__all__ = ["Counter", "CounterWidth"]


class Counter(Handle):
    """The number in the node at path, in 32 or 64 bits."""

    def __init__(self, session: Session, path: str, width: CounterWidth = CounterWidth.COUNTER_64) -> None:
        super().__init__(new(session._c.use, lib.zkl_counter_new, text(path), width), lib.zkl_counter_free)
        self.session = session

    def get(self, timeout: Optional[float] = 0) -> int:
        number = c_int64()
        self._c.ask(lib.zkl_counter_get, ms(timeout), byref(number))
        return number.value

    def set(self, value: int, fence: Optional[Grant] = None, timeout: Optional[float] = 0) -> None:
        self._fenced(fence, lambda c, grant: lib.zkl_counter_set(c, value, grant, ms(timeout)))

    def add(self, delta: int, fence: Optional[Grant] = None, timeout: Optional[float] = 0) -> int:
        """Adds, and returns the new number."""
        number = c_int64()
        self._fenced(fence, lambda c, grant: lib.zkl_counter_add(c, delta, grant, ms(timeout), byref(number)))
        return number.value

    def compare_and_set(
        self, expected: int, value: int, fence: Optional[Grant] = None, timeout: Optional[float] = 0
    ) -> None:
        """Raises an Error of the code EVERSION if the number is not equal to expected."""
        swap = lib.zkl_counter_compare_and_set
        self._fenced(fence, lambda c, grant: swap(c, expected, value, grant, ms(timeout)))

    def watch(self, function: Callable[[int], None]) -> Watch:
        """Calls function(number): see zkl_counter_watch()."""
        deliver = self.session._call
        number = keep(lambda value: deliver(function, value))
        return Watch(self.session, number, self._c.use, lib.zkl_counter_watch, called(_c.CounterFn), number)

    def _fenced(self, fence: Optional[Grant], function: Callable[[Any, Any], Any]) -> None:
        """A grant that has ended must not become none."""
        if fence is None:
            self._c.ask(function, None)
        else:
            fence._ask(lambda grant: self._c.ask(function, grant))
