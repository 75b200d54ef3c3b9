"""kazoo's barriers, its party and its counter in Curator's format: see peers.sh for the commands."""

import time

from kazoo.recipe.barrier import Barrier, DoubleBarrier
from kazoo.recipe.counter import Counter
from kazoo.recipe.party import Party


class Shared:
    def __init__(self, client):
        self.client = client
        self.inside = None
        self.party = None

    def add(self, path, seconds):
        """Its `+=` tries again until it was not overtaken."""
        counter = Counter(self.client, path, support_curator=True)
        end = time.monotonic() + seconds
        added = 0
        while added == 0 or time.monotonic() < end:
            counter += 1
            added += 1
        return added

    def obey(self, words):
        verb, args = words[0], words[1:]
        if verb == "bset":
            Barrier(self.client, args[0]).create()
            return "ok"
        if verb == "bremove":
            Barrier(self.client, args[0]).remove()
            return "ok"
        if verb == "bwait":
            return "ok" if Barrier(self.client, args[0]).wait(int(args[1]) / 1000) else "late"
        if verb == "denter":
            self.inside = DoubleBarrier(self.client, args[0], int(args[1]))
            self.inside.enter()
            return "ok" if self.inside.participating else "late"
        if verb == "dleave":
            self.inside.leave()
            return "ok"
        if verb == "pjoin":
            self.party = Party(self.client, args[0], args[1])
            self.party.join()
            return "ok"
        if verb == "plist":
            return "ok %s" % ",".join(sorted(Party(self.client, args[0])))
        if verb == "gleave":
            self.party.leave()
            return "ok"
        if verb == "add":
            return "ok %d" % self.add(args[0], float(args[2]))
        if verb == "number":
            return "ok %d" % int.from_bytes(self.client.get(args[0])[0], "big", signed=True)
        raise ValueError(verb)
