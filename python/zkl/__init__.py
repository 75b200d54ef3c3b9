"""ZooKeeper locks and leaders: libzkl for Python.

    with zkl.Session("zk1:2181,zk2:2181") as session:
        with zkl.Mutex(session, "/jobs/nightly").hold(timeout=10) as grant:
            grant.on_lost(stop.set)
            while work() and grant.remaining() > 5:
                store(item, fence=grant.fence)

A grant knows until when nobody else can get the lock, without asking a server. Times are in seconds; None is no
limit, and 0 does not wait for others. What fails raises an Error. For asyncio there is AsyncSession, and a method
whose name ends in _async beside each that waits for others. In a forked child everything is over: open a session
there. See zkl-python(7).
"""

from . import barrier, counter, election, errors, grant, lock, member, once, queue, session, shards, stats
from ._library import lib as _lib
from .barrier import *
from .counter import *
from .election import *
from .errors import *
from .grant import *
from .lock import *
from .member import *
from .once import *
from .queue import *
from .session import *
from .shards import *
from .stats import *

__version__: str = _lib.zkl_version().decode()
__all__ = [
    name
    for module in (barrier, counter, election, errors, grant, lock, member, once, queue, session, shards, stats)
    for name in module.__all__
]
