"""What a session has done, in numbers."""

import ctypes
from ctypes import byref
from typing import Callable, Dict, List, Tuple

from . import _c
from ._library import lib, text

__all__ = ["Stats", "histogram_bounds"]


class Stats(_c.Stats):
    """The members of zkl_stats in C."""

    def as_dict(self) -> Dict[str, object]:
        """All of them; a histogram is (count, sum in ns, buckets)."""
        values = {name: getattr(self, name) for name, _ in self._fields_[1:]}
        return {name: _plain(value) for name, value in values.items()}

    def prometheus(self, **labels: str) -> str:
        """In Prometheus' text format, each metric with the labels."""
        return rendered(lambda *rest: lib.zkl_stats_prometheus(byref(self), *rest), labels)


def rendered(function: Callable[..., int], labels: Dict[str, str]) -> str:
    """What the function writes, which is called until all has room: it may have become longer since."""
    made = [_c.Label(text(name), text(value)) for name, value in labels.items()]
    length = 0
    while True:
        buffer = ctypes.create_string_buffer(length + 1)
        length = function((_c.Label * len(made))(*made), len(made), buffer, len(buffer))
        if length < len(buffer):
            return buffer.value.decode()


def _plain(value: object) -> object:
    if isinstance(value, _c.Histogram):
        made: Tuple[int, int, List[int]] = (value.count, value.sum_ns, list(value.buckets))
        return made
    return value


def histogram_bounds() -> List[int]:
    """The upper bounds of a histogram's buckets, in nanoseconds."""
    return [lib.zkl_histogram_bound_ns(bucket) for bucket in range(_c.HISTOGRAM_BUCKETS)]
