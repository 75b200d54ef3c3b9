"""What zkl.py needs of libzkl's ABI: its functions, structs and errors, for ctypes."""

import ctypes
import enum
import math
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p

lib = ctypes.CDLL(os.environ.get("ZKL_LIBRARY", "libzkl.so.0"))


class State(enum.IntEnum):
    HELD, SUSPECT, LOST, RELEASED = range(4)


class Error(Exception):
    """name is that of zkl/error.h without ZKL_E, such as "BUSY"."""

    NAMES = ("OK INVAL NOMEM TIMEDOUT BUSY CANCELED PERM LOST CLOSED DEADLK CHILD HOST UNREACHABLE "
             "ACCES AUTH PATH OVERFLOW LIMIT NOENT RANGE PROTO EXIST VERSION NOTEMPTY UNKNOWN LAYOUT").split()

    def __init__(self, code, path="", text=""):
        super().__init__(text or lib.zkl_strerror(code).decode())
        self.code, self.path = code, path
        self.name = self.NAMES[-code] if -code < len(self.NAMES) else str(code)


class NotAcquired(Error):
    """Somebody else holds: BUSY or TIMEDOUT."""


class Lost(Error):
    """The grant was lost."""


class CError(ctypes.Structure):
    _fields_ = [("code", c_int), ("path", ctypes.c_char * 256), ("text", ctypes.c_char * 256)]


class Deadline(ctypes.Structure):
    _fields_ = [("boottime_ns", c_int64), ("monotonic_raw_ns", c_int64)]


def _raise(code, *_):
    error = CError()
    if lib.zkl_last_error(byref(error)) != code:
        raise Error(code)
    kind = {"BUSY": NotAcquired, "TIMEDOUT": NotAcquired, "LOST": Lost}.get(Error.NAMES[-code], Error)
    raise kind(code, error.path.decode(errors="replace"), error.text.decode(errors="replace"))


def check(code, function=None, arguments=None):
    return code if code >= 0 else _raise(code)


# ---- options: the library fills in its defaults, and refuses a struct that is too small ----

class SessionOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("session_timeout_ms", c_int), ("acl", c_char_p),
                ("log", c_void_p), ("log_data", c_void_p), ("log_level", c_int),
                ("tick_ms", c_int), ("drift_permille", c_int),
                ("dispatch", c_int), ("credentials", c_void_p), ("credential_count", c_size_t),
                ("tls_ca", c_char_p), ("tls_cert", c_char_p), ("tls_key", c_char_p),
                ("fixed_servers", c_int)]


class MutexOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("parents", c_int), ("key", c_void_p),
                ("key_data", c_void_p), ("peer", c_int), ("retain_ms", c_int64),
                ("fence64", c_int)]


class SemaphoreOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("parents", c_int), ("limit", c_int),
                ("numbered", c_int), ("layout", c_int)]


class ElectionOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("layout", c_int), ("parents", c_int), ("once", c_int),
                ("priority", c_int), ("yield", c_int)]


GRANT_FN = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)
HANDLES = POINTER(c_void_p)


def declare(result, *functions):
    for name, *arguments in functions:
        function = getattr(lib, "zkl_" + name)
        function.argtypes = arguments
        function.restype = c_int if result is check else result
        if result is check:
            function.errcheck = check


declare(check,
         ("session_open", HANDLES, c_char_p, c_void_p, c_void_p), ("session_wait", c_void_p, c_int64),
         ("mutex_new", HANDLES, c_void_p, c_char_p, c_void_p), ("mutex_unlock", c_void_p),
         ("mutex_lock", c_void_p, c_int64, HANDLES), ("mutex_depth", c_void_p),
         ("semaphore_new", HANDLES, c_void_p, c_char_p, c_void_p),
         ("semaphore_acquire", c_void_p, c_int, c_int64, HANDLES),
         ("election_new", HANDLES, c_void_p, c_char_p, c_char_p, c_void_p),
         ("election_campaign", c_void_p, c_int64, HANDLES),
         ("election_leader", c_void_p, c_void_p, c_size_t, POINTER(c_uint64)),
         ("grant_fence", c_void_p, c_char_p, c_size_t), ("grant_deadline", c_void_p, c_void_p),
         *(("grant_on_" + what, c_void_p, GRANT_FN, c_void_p) for what in ("change", "wanted", "revoke")))
declare(None, *((name, c_void_p) for name in (
    "session_close", "mutex_free", "semaphore_free", "election_free", "grant_release")))
declare(c_uint64, ("grant_token", c_void_p), ("grant_turn", c_void_p))
declare(c_int64, ("grant_remaining_ms", c_void_p))
declare(c_int, ("grant_state", c_void_p), ("last_error", c_void_p))
declare(c_char_p, ("grant_node", c_void_p), ("strerror", c_int))


def options_of(kind, struct, **members):
    """A reference to options with the library's defaults, but for members, which must be in struct."""
    options = struct(size=ctypes.sizeof(struct))
    for name, value in members.items():
        if name not in (field[0] for field in struct._fields_[1:]):
            raise TypeError(f"zkl_{kind}_options has no {name}")
        setattr(options, name, value.encode() if isinstance(value, str) else value)
    return byref(options)


def ms(seconds):
    return 2**63 - 1 if seconds is None else max(0, math.ceil(seconds * 1000))
