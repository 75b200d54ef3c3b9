"""ZooKeeper locks and leaders: libzkl for Python.

    with zkl.Session("zk1:2181,zk2:2181") as session:
        with zkl.Mutex(session, "/jobs/nightly").hold(timeout=10) as grant:
            grant.on_lost(stop.set)
            while work() and grant.remaining() > 5:
                store(item, fence=grant.fence)

See zkl-python(7), and for each function the page of that in C.
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
