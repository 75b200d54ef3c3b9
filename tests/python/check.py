"""What the cases of tests/python share."""

import contextlib
import os
import subprocess
import sys

HOUR = 3600  # for functions that take a time; the watchdog ends a hang before (tests/support/progress.h)
CONNECT = os.environ.get("ZKL_CONNECT", "")


def raises(kind, code, fn, *arguments, **keywords):
    """That the call fails so; returns the error."""
    try:
        fn(*arguments, **keywords)
    except kind as error:
        assert error.code.name == code, error.code
        assert type(error) is kind, type(error)
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def raises_async(kind, code, awaitable):
    try:
        await awaitable
    except kind as error:
        assert error.code.name == code, error.code
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


@contextlib.contextmanager
def caught():
    """The exceptions of callbacks, which go to the interpreter's hook."""
    hook, errors = sys.unraisablehook, []
    sys.unraisablehook = lambda what: errors.append(what.exc_value)
    try:
        yield errors
    finally:
        sys.unraisablehook = hook


def step():
    """Tells the watchdog, if there is one, that we have come further."""
    file = os.environ.get("ZKL_PROGRESS")
    if file and os.path.exists(file):
        with open(file, "ab") as progress:
            progress.write(b".")


def administrator(*arguments):
    """What somebody else does to nodes."""
    subprocess.run([os.environ["ADMIN"], *arguments], check=True)

