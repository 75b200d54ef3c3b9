"""The cases of the package zkl, on the servers that ZKL_CONNECT names: a line for each case."""

import faulthandler
import logging
import signal
import sys
import threading

import elections
import groups
import locks
import loops
import sessions
import zkl
from check import CONNECT, step
from zkl import _library


def main():
    failed = 0
    faulthandler.register(signal.SIGTERM, 3, chain=True)  # where it hangs when the watchdog ends it
    # What asyncio calls slow is the machine.
    logging.getLogger("asyncio").addFilter(lambda record: " took " not in record.getMessage())
    with zkl.Session(CONNECT) as session, zkl.Session(CONNECT) as other:
        for module in (locks, elections, groups, sessions, loops):
            for case in module.CASES:
                name = f"{module.__name__}_{case.__name__}"
                try:
                    case(session, other, "/python/" + name)
                except Exception as error:  # pylint: disable=broad-except
                    sys.excepthook(type(error), error, error.__traceback__)
                    failed += 1
                    print("FAILED:", name, flush=True)
                else:
                    print("ok:", name, flush=True)
                step()
    assert not _library._functions, "what has ended is kept"
    assert threading.active_count() == 1
    left_open = zkl.Session(CONNECT)  # closed at the end of the program
    zkl.Mutex(left_open, "/python/end").acquire()
    return failed


sys.exit(main())
