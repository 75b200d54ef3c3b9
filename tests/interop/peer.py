"""kazoo, driven by a test: peer.py CONNECT SUBCOMMAND ARG... obeys one command a line on its standard
input, and answers each by one line, as Peer.java does. Ends with its input."""

import logging
import os
import sys

from kazoo.client import KazooClient

from peer_election import Candidate
from peer_locks import Locks


def make(client, args):
    if args[0] == "locks":
        return Locks(client)
    if args[0] == "election":
        return Candidate(client, *args[1:])
    raise ValueError("no subcommand " + args[0])


def answer(subject, command):
    try:
        return subject.obey(command.split())
    except Exception as e:  # whatever it is, the test is told
        return "error: %r" % e


def main(connect, args):
    logging.basicConfig(level=logging.ERROR)
    client = KazooClient(connect, timeout=int(os.environ.get("PEER_SESSION_MS", "4000")) / 1000)
    client.start(timeout=None)
    subject = make(client, args)
    for line in sys.stdin:
        print(answer(subject, line), flush=True)
    client.stop()
    client.close()


main(sys.argv[1], sys.argv[2:])
