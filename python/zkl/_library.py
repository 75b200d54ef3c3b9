"""libzkl by ctypes: its functions with their types, errors as exceptions, and callbacks.

C knows a callback by a number, which means nothing any more when the callback is dropped.
"""

import contextlib
import ctypes
import functools
import itertools
import math
import os
import threading
import time
import weakref
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple, TypeVar, Union, overload

from . import _c, errors

lib = ctypes.CDLL(os.environ.get("ZKL_LIBRARY", "libzkl.so.0"))
FOREVER = 2**63 - 1
PAUSE = 0.0005  # seconds for another thread's call to come to its wait or its end
T = TypeVar("T")


# ---- functions ----


def last_error(code: int) -> errors.Error:
    """The exception for the calling thread's last failure, which had this code."""
    error = _c.Error()
    if lib.zkl_last_error(byref(error)) != code:
        return errors.made(code, "", lib.zkl_strerror(code).decode())
    return error_of(error)


def error_of(error: Any) -> errors.Error:
    """The exception for a struct zkl_error."""
    return errors.made(error.code, error.path.decode(errors="replace"), error.text.decode(errors="replace"))


def error_at(pointer: Any) -> Optional[errors.Error]:
    """The same for a pointer, which may be NULL."""
    return error_of(pointer[0]) if pointer else None


def check(code: int, _function: Any, _arguments: Any) -> int:
    if code < 0:
        raise last_error(code)
    return code


@functools.lru_cache(maxsize=None)
def exact(kind: Any) -> Any:
    """A number's type that refuses what does not fit, where ctypes cuts it."""

    def from_param(_class: Any, value: Any) -> Any:
        number = kind(value)
        if number.value != value:
            raise OverflowError(f"{value} does not fit {kind.__name__[2:]}")
        return number

    return type(kind.__name__, (), {"from_param": classmethod(from_param)})


def declare() -> None:
    numbers = (ctypes.c_int, ctypes.c_uint, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t)
    for name, (result, arguments) in _c.FUNCTIONS.items():
        function = getattr(lib, name)
        function.argtypes = [exact(kind) if kind in numbers else kind for kind in arguments]
        function.restype = ctypes.c_int if result is _c.Status else result
        if result is _c.Status:
            function.errcheck = check


declare()


# ---- values ----


def ms(seconds: Optional[float]) -> int:
    """A time limit, rounded up to milliseconds; None is no limit."""
    return FOREVER if seconds is None else min(max(0, math.ceil(seconds * 1000)), FOREVER)


def text(value: Optional[str]) -> Optional[bytes]:
    """A string for C, where the first 0 would end it."""
    if value is not None and "\0" in value:
        raise ValueError("embedded null character")
    return None if value is None else value.encode()


def said(value: Optional[bytes]) -> str:
    """A string of C."""
    return (value or b"").decode(errors="replace")


def options(kind: Any, **members: Any) -> Any:
    """Options; what is not given is 0, which is the default of each."""
    made = kind(size=ctypes.sizeof(kind))
    fill(made, **members)
    return made


def fill(struct: Any, **members: Any) -> None:
    """Sets members of a struct, and refuses a number that does not fit, where ctypes cuts it."""
    for name, value in members.items():
        value = text(value) if isinstance(value, str) else value
        setattr(struct, name, value)
        if isinstance(value, int) and getattr(struct, name) != value:
            raise OverflowError(f"{name}: {value} does not fit")


class Snapshot(Sequence[T]):
    """What the library has read."""

    def __init__(self, items: List[T]) -> None:
        self._items = items

    @overload
    def __getitem__(self, i: int) -> T:
        ...

    @overload
    def __getitem__(self, i: slice) -> List[T]:
        ...

    def __getitem__(self, i: Union[int, slice]) -> Union[T, List[T]]:
        return self._items[i]

    def __len__(self) -> int:
        return len(self._items)


# ---- callbacks ----

_functions: Dict[int, Tuple[Callable[..., None], Any]] = {}
_numbers = itertools.count(1)


def keep(function: Callable[..., None], owner: Any = None) -> int:
    """Keeps the function and its owner until the number is dropped. Returns the number by which C names it."""
    number = next(_numbers)
    _functions[number] = function, owner
    return number


def drop(number: Optional[int]) -> None:
    _functions.pop(number or 0, None)


@functools.lru_cache(maxsize=None)
def called(kind: Any) -> Any:
    """A C function of a type of _c. Its last argument is the number of the Python function that it calls."""

    def call(*arguments: Any) -> None:
        kept = _functions.get(arguments[-1])
        if kept:
            kept[0](*arguments[:-1])

    return kind(call)


# ---- handles ----


def closed(kind: str) -> NoReturn:
    raise errors.made(_c.Code.ECLOSED, "", f"the {kind} was closed")


class _Call:
    """A call that uses a pointer. soon: it ends soon, or waits. waits: 1 where C says that it does, and does not need
    what it was given."""

    def __init__(self, soon: bool, waits: Optional[ctypes.c_int] = None) -> None:
        self.thread, self.soon, self.waits = threading.get_ident(), soon, waits

    def needs(self) -> bool:
        return not (self.waits and self.waits.value)


# A forked child gets another one: what other threads of the parent had begun never ends there.
_process = object()


def _forked() -> None:
    global _process  # pylint: disable=global-statement
    _process = object()


os.register_at_fork(after_in_child=_forked)


class Pointer:
    """What C has for an object, and the calls that use it.

    C must not free what a call is about to use. A call that waits has references of its own, and may fail when what it
    was given is freed. So each call is noted here before it takes the pointer. close() lets no further call begin, and
    looks at the notes after that: this order needs no lock. It waits for calls of other threads, until they end or wait
    in C. Those that ask the servers may take long: with patience it waits for them, otherwise the last of them frees.

    A call of the same thread is never waited for: it has called what closes, or a handler of signals has.
    """

    def __init__(self, kind: str, free: Optional[Callable[[Any], Any]], value: Optional[c_void_p] = None) -> None:
        self.value = value
        self._kind, self._free, self._process = kind, free, _process
        self._open, self._unfreed = [True], [True]  # each is taken out by one thread
        self._over = False
        self._calls: Dict[_Call, None] = {}

    @property
    def closed(self) -> bool:
        return not self._open

    @property
    def inherited(self) -> bool:
        """Whether this is a forked child, and the parent made it."""
        return self._process is not _process

    def use(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls function(pointer, *arguments), which does not wait."""
        return self._noted(_Call(True), function, arguments)

    def ask(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls a function that waits for the servers, and needs the pointer to its end."""
        return self._noted(_Call(False), function, arguments)

    def wait(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls a function that does not need the pointer while C waits, and may fail if that is freed then."""
        flag = ctypes.c_int()
        try:
            lib.zkl_call_waits(byref(flag))
            return self._noted(_Call(True, flag), function, arguments)
        finally:
            lib.zkl_call_waits(None)

    def _noted(self, call: _Call, function: Callable[..., T], arguments: Tuple[Any, ...]) -> T:
        self._calls[call] = None
        try:
            if self.closed:
                closed(self._kind)
            return function(self.value, *arguments)
        finally:
            del self._calls[call]
            if self._over:
                self._end()

    def close(self, patience: bool = False) -> bool:
        """Lets no call begin any more. Returns whether no call needs the pointer any more."""
        try:
            self._open.pop()
        except IndexError:
            return not self._needed_by()
        try:
            while any(call.thread != threading.get_ident() for call in self._needed_by() if call.soon or patience):
                time.sleep(PAUSE)
        finally:
            self._over = True
            unneeded = self._end()
        return unneeded

    def _needed_by(self) -> List[_Call]:
        return [call for call in list(self._calls) if call.needs()] if not self.inherited else []

    def _end(self) -> bool:
        if self._needed_by():
            return False
        with contextlib.suppress(IndexError):
            self._unfreed.pop()
            free, self._free = self._free, None
            if free:
                free(self.value)
        return True


class Handle:
    """An object of C. It is freed with this one, or before that by close(). See zkl-python(7), "Threads"."""

    def __init__(self, handle: c_void_p, free: Callable[[c_void_p], None]) -> None:
        self._c = Pointer(type(self).__name__, free, handle)
        self._free = weakref.finalize(self, self._c.close)

    def close(self) -> None:
        self._free()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, _kind: Any, *_: Any) -> None:
        self.close()


def new(call: Callable[..., int], function: Callable[..., int], *arguments: Any) -> c_void_p:
    """What a function makes of what call gives it, a session; its first argument is where to store it."""
    handle = c_void_p()
    call(lambda c: function(byref(handle), c, *arguments))
    return handle
