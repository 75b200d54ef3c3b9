"""What fails raises an Error, with the code of the C library, the path concerned and a sentence."""

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
    """Somebody else holds, and the call was not to wait. Or, as its code's comment says in zkl/error.h."""


class TimedOut(NotAcquired, TimeoutError):
    """The time limit passed."""


class Lost(Error):
    """The grant was lost, or the node of a member of a double barrier."""


class Closed(Error):
    """The session was closed, or the object."""


class Forked(Error):
    """In a forked child there is nothing of its parent's sessions: open one there."""


class Unreachable(Error, ConnectionError):
    """No server answers, no name of one is known, or the session is not proved."""


class Refused(Error, PermissionError):
    """The server refused for lack of a permission or of credentials, or refused the credentials."""


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
