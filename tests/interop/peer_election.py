"""A candidate at kazoo's Election, term by term: start, await, resign, leader, line."""

import threading

from kazoo.recipe.election import Election

from peer_locks import CuratorLock


class Candidate:
    def __init__(self, client, path, name, stamps):
        self.election = Election(client, path, name)
        self.election.lock = CuratorLock(client, path, name)
        self.name = name
        self.stamps = stamps
        self.led = threading.Semaphore(0)
        self.enough = threading.Semaphore(0)
        self.thread = None

    def stamp(self, word):
        """Each line by one write: their order is that of the terms."""
        with open(self.stamps, "ab", buffering=0) as file:
            file.write(("%s %s\n" % (word, self.name)).encode())

    def lead(self):
        self.stamp("start")
        self.led.release()
        self.enough.acquire()
        self.stamp("end")

    def start(self):
        if self.thread:
            self.thread.join()
        self.thread = threading.Thread(target=self.election.run, args=(self.lead,), daemon=True)
        self.thread.start()
        return "ok"

    def obey(self, words):
        verb = words[0]
        if verb == "start":
            return self.start()
        if verb == "await":
            self.led.acquire()
            return "leads"
        if verb == "resign":
            self.enough.release()
            return "ok"
        names = self.election.contenders()
        if verb == "leader":
            return names[0]
        if verb == "line":
            return " ".join(["*" + names[0]] + names[1:])
        raise ValueError(verb)
