"""libzkl by ctypes: its functions with their types, errors as exceptions, and callbacks.

C knows a callback by a number, which means nothing any more when the callback is dropped.
"""

import ctypes
import functools
import itertools
import math
import os
import weakref
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple, TypeVar, Union, overload

from . import _c, errors

lib = ctypes.CDLL(os.environ.get("ZKL_LIBRARY", "libzkl.so.0"))
FOREVER = 2**63 - 1
T = TypeVar("T")


# ---- functions ----


def last_error(code: int) -> errors.Error:
    """The calling thread's last failure, which had this code."""
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
    """A time limit; None is no limit. What is shorter than a millisecond is one, not nothing."""
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
    for name, value in members.items():
        value = text(value) if isinstance(value, str) else value
        setattr(made, name, value)
        if isinstance(value, int) and getattr(made, name) != value:
            raise OverflowError(f"{name}: {value} does not fit")
    return made


class Snapshot(Sequence[T]):
    """What the library has read at one time."""

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
    """The number by which C knows the function from now on. Until it is dropped its owner is not."""
    number = next(_numbers)
    _functions[number] = function, owner
    return number


def drop(number: Optional[int]) -> None:
    _functions.pop(number or 0, None)


@functools.lru_cache(maxsize=None)
def called(kind: Any) -> Any:
    """The function of C, of a type of _c, that calls what was kept, by the number behind the other arguments."""

    def call(*arguments: Any) -> None:
        kept = _functions.get(arguments[-1])
        if kept:
            kept[0](*arguments[:-1])

    return kind(call)


# ---- handles ----


def closed(what: Any) -> NoReturn:
    raise errors.made(_c.Code.ECLOSED, "", f"the {type(what).__name__} was closed")


class Handle:
    """What C has for an object. It is freed with the object, or before that by close(); free never waits."""

    def __init__(self, handle: c_void_p, free: Callable[[c_void_p], None]) -> None:
        self._handle: Optional[c_void_p] = handle
        self._free = weakref.finalize(self, free, handle)

    @property
    def _c(self) -> c_void_p:
        return self._handle or closed(self)

    def close(self) -> None:
        self._handle = None
        self._free()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, _kind: Any, *_: Any) -> None:
        self.close()


def new(function: Callable[..., int], *arguments: Any) -> c_void_p:
    """What a function makes, whose first argument is where to store it."""
    handle = c_void_p()
    function(byref(handle), *arguments)
    return handle
