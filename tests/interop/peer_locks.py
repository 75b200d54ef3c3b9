"""Locks by kazoo's recipes: see peers.sh for the commands."""

import os
import time

from kazoo.recipe.lock import Lock, ReadLock, Semaphore, WriteLock

from peer_contend import Contend
from peer_shared import Shared


class CuratorLock(Lock):
    """What a site needs where others use Curator or zkl."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


class CuratorReadLock(Lock):
    _NODE_NAME = "-__READ__"
    _EXCLUDE_NAMES = ["-__WRIT__"]


class CuratorWriteLock(Lock):
    _NODE_NAME = "-__WRIT__"
    _EXCLUDE_NAMES = ["-__READ__", "-__WRIT__"]


# The extra patterns alone make others visible to kazoo, but not kazoo to others.
KINDS = {
    "kazoo": (Lock, ()),
    "kazoo-extra": (Lock, ["-lock-"]),
    "kazoo-curator": (CuratorLock, ()),
    "kazoo-read": (ReadLock, ()),
    "kazoo-write": (WriteLock, ()),
    "kazoo-extra-read": (ReadLock, ["__WRIT__"]),
    "kazoo-extra-write": (WriteLock, ["__WRIT__", "__READ__"]),
    "kazoo-curator-read": (CuratorReadLock, ()),
    "kazoo-curator-write": (CuratorWriteLock, ()),
}


class NoLock:
    """Nothing at all: what a judge must notice."""

    node = None

    def acquire(self, **_):
        return True

    def release(self):
        pass


class Permit(Semaphore):
    """Of a semaphore whose leases are children of its path; tells the name of its own."""

    @property
    def node(self):
        return self.create_path.rpartition("/")[2]


class Locks:
    def __init__(self, client):
        self.client = client
        self.held = None
        self.contend = None
        self.shared = Shared(client)

    def make(self, path, kind):
        """A new object each time: one that is kept believes that its path is still there."""
        if kind == "none":
            return NoLock()
        if kind.startswith("kazoo-permit"):
            return Permit(self.client, path, max_leases=int(kind[len("kazoo-permit") :]))
        recipe, extra = KINDS[kind]
        return recipe(self.client, path, "kazoo-%d" % os.getpid(), extra_lock_patterns=extra)

    def token(self, lock):
        """What is not there has none, and raises."""
        return self.client.exists(lock.path + "/" + lock.node).czxid if lock.node else 0

    def take(self, path, kind, **how):
        lock = self.make(path, kind)
        if not lock.acquire(**how):
            return "busy"
        self.held = lock
        return "ok %d %s/%s" % (self.token(lock), path, lock.node)

    def obey(self, words):
        verb, args = words[0], words[1:]
        if verb == "hold":
            return self.take(*args)
        if verb == "try":
            return self.take(*args, blocking=False)
        if verb == "persist":
            return self.take(*args, ephemeral=False)
        if verb == "release":
            self.held.release()
            return "ok"
        if verb == "list":
            return "ok " + " ".join(self.make(*args).contenders())
        if verb == "contend":
            self.contend = Contend(self, *args)
            self.contend.start()
            return "ok"
        if verb in ("join", "stop"):
            return self.contend.result(verb == "stop")
        if verb == "now":
            return "ok %d" % time.monotonic_ns()
        return self.shared.obey(words)
