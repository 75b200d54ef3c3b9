"""Elections."""

import gc
import queue

import zkl
from check import HOUR, administrator, raises


def terms(session, other, path):
    one, two = zkl.Election(session, path, "one"), zkl.Election(other, path, "two")
    looker = zkl.Election(other, path)
    assert one.leader() is None and one.status().candidacy == zkl.Candidacy.NONE
    with one.campaign(timeout=HOUR) as term:
        assert looker.leader() == (term.token, "one")
        administrator("set", term.node, "x" * 10000)
        assert looker.leader() == (term.token, "x" * 10000)
        raises(zkl.Busy, "EBUSY", two.campaign, timeout=0)
        status = one.status()
        assert (status.candidacy, status.token, status.terms) == (zkl.Candidacy.LEADING, term.token, 1)
        assert two.status().last.code == zkl.Code.EBUSY and status.last is None
    with two.campaign(timeout=HOUR) as later:
        assert later.token > term.token and term.state == zkl.State.RELEASED
        two.resign()
        assert later.state == zkl.State.RELEASED
    raises(zkl.Error, "EPERM", two.resign)
    raises(zkl.Error, "EINVAL", looker.campaign)


def watched(session, other, path):
    said = queue.Queue()
    candidate = zkl.Election(session, path, "one")
    with zkl.Election(other, path).watch(said.put) as watch:
        assert said.get() is None
        with candidate.campaign(HOUR) as term:
            leader = said.get()
            assert (leader.token, leader.id, leader.data) == (term.token, "one", None)
            assert path + "/" + leader.node == term.node
            candidate.proclaim(b"")
            assert said.get().data == b""
            candidate.proclaim(b"at\0home")
            assert said.get().data == b"at\0home"
        assert said.get() is None
    watch.close()  # again is no error


def started(session, other, path):
    """Events of terms that end in each way; the grant of a term ends with it."""
    events = queue.Queue()
    election = zkl.Election(session, path, "one")
    election.start(lambda *event: events.put(event))
    raises(zkl.Busy, "EBUSY", election.start, print)
    tokens = []
    for end, name in (
        (lambda grant: administrator("delete", grant.node), "LOST"),
        (lambda grant: election.step_down(), "RESIGNED"),
        (lambda grant: election.resign(), "RESIGNED"),
    ):
        event, grant, error = events.get()
        assert event == zkl.ElectionEvent.LEADING and error is None and grant.state == zkl.State.HELD
        tokens.append(grant.token)
        end(grant)
        event, same, error = events.get()
        assert event.name == name and same is grant and error is None
        assert grant.state == (zkl.State.LOST if name == "LOST" else zkl.State.RELEASED)
    assert tokens == sorted(set(tokens))
    event, grant, error = events.get()
    assert (event, grant, error) == (zkl.ElectionEvent.STOPPED, None, None)


def once(session, other, path):
    """One term. Without a reference it goes on, too."""
    events = queue.Queue()
    zkl.Election(session, path, "nobody's", once=True).start(lambda *event: events.put(event))
    gc.collect()
    event, grant, _ = events.get()
    assert event == zkl.ElectionEvent.LEADING
    administrator("delete", grant.node)
    assert events.get()[0] == zkl.ElectionEvent.LOST
    event, _, error = events.get()
    assert event == zkl.ElectionEvent.STOPPED and type(error) is zkl.Lost
    election = zkl.Election(session, path, "one", once=True)
    election.start(lambda *event: events.put(event))
    assert events.get()[0] == zkl.ElectionEvent.LEADING
    election.step_down()
    assert events.get()[0] == zkl.ElectionEvent.RESIGNED
    assert events.get()[0] == zkl.ElectionEvent.STOPPED


CASES = terms, watched, started, once
