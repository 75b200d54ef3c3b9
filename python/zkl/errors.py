"""What fails in the library raises an Error, with its code, what it concerns and a sentence."""

from typing import Any, Dict, Tuple, Type

from ._c import Code

__all__ = ["Busy", "Closed", "Code", "Error", "Forked", "Lost", "NotAcquired", "Refused", "TimedOut", "Unreachable"]


class Error(Exception):
    """A failure, with its code."""

    def __init__(self, code: Code, path: str, text: str) -> None:
        super().__init__(text)
        self.code, self.path, self.text = code, path, text

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.code, self.path, self.text)


class NotAcquired(Error):
    """Busy or TimedOut."""


class Busy(NotAcquired):
    """The code EBUSY."""


class TimedOut(NotAcquired, TimeoutError):
    """The code ETIMEDOUT."""


class Lost(Error):
    """The code ELOST."""


class Closed(Error):
    """The code ECLOSED."""


class Forked(Error):
    """The code ECHILD: in a forked child open a session there."""


class Unreachable(Error, ConnectionError):
    """The code EUNREACHABLE or EHOST."""


class Refused(Error, PermissionError):
    """The code EACCES or EAUTH."""


CLASSES: Dict[int, Type[Error]] = {
    Code.EBUSY: Busy,
    Code.ETIMEDOUT: TimedOut,
    Code.ELOST: Lost,
    Code.ECLOSED: Closed,
    Code.ECHILD: Forked,
    Code.EHOST: Unreachable,
    Code.EUNREACHABLE: Unreachable,
    Code.EACCES: Refused,
    Code.EAUTH: Refused,
}


def made(code: int, path: str, text: str) -> Error:
    """The exception for a code."""
    return CLASSES.get(code, Error)(Code(code), path, text)
