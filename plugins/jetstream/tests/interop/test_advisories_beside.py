"""Advisories beside the real server's: the same steps lead to the same events."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from framework.testing import Fleet

pytestmark = pytest.mark.interop

CONFIG = """
jetstream { store_dir: "%s", max_mem: 1G, max_file: 1G %s }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }] }
  SYS { users: [{ user: sys, password: sys }] }
}
system_account: SYS
"""
STREAM = {"name": "S", "subjects": ["s"], "storage": "memory"}
_VARYING = {"id", "timestamp", "time", "ts", "created", "start", "server", "host", "rtt", "stop"}
_VARYING |= {"ack_time", "pinned_id"}
ADVISORY = b"$JS.EVENT.ADVISORY.CONSUMER."
LONG = 60_000_000_000


class Listener:
    """A client that hears all events of its account."""

    def __init__(self, client):
        self._client = client
        self._passed_over = []
        """What came before what was waited for: two events may come in either order."""
        client.log_in(user="a", **{"pass": "a"})
        client.send(b"SUB $JS.EVENT.> 1\r\n")
        client.flush()

    def hear(self, subject):
        """Return subject and event of the next one whose subject begins so."""
        for at, operation in enumerate(self._passed_over):
            if operation.subject.startswith(subject):
                del self._passed_over[at]
                return operation.subject.decode(), json.loads(operation.body)
        while True:
            try:
                operation = self._client.read()
            except TimeoutError as none:
                none.add_note(f"no {subject}; others: {[it.subject for it in self._passed_over]}")
                raise
            if operation.verb != b"MSG":
                continue
            if operation.subject.startswith(subject):
                return operation.subject.decode(), json.loads(operation.body)
            self._passed_over.append(operation)


def same(document):
    if isinstance(document, dict):
        return {name: same(it) for name, it in document.items() if name not in _VARYING}
    return document


def in_order(events):
    return [(subject, same(event)) for subject, event in events]


def in_any_order(events):
    """Sort events: the real server tells them from several goroutines, in the order they run in."""
    return sorted(in_order(events), key=json.dumps)


def pulled(user, consumer, count):
    """Pull messages; the real server's consumers hear of those that are stored a little later."""
    got = []
    while len(got) < count:
        got += [it for it in user.fetch("S", consumer, count - len(got)) if it[1]]
    return got


@pytest.fixture(scope="module", params=["", ", domain: hub"])
def servers(request, tmp_path_factory):
    plugin = ("-plugin", "framework_jetstream.plugin")
    folder = tmp_path_factory.mktemp("servers")
    fleet = Fleet(folder)
    ours = fleet.start(*plugin, config=CONFIG % (folder / "ours", request.param))
    real = fleet.start(config=CONFIG % (folder / "real", request.param), kind="2.15.2")
    yield ours, real
    fleet.stop()


@pytest.fixture
def play(servers, log_in):
    """Return what both servers' listeners hear of what is done, one event a subject."""

    def go(steps, subjects):
        heard = []
        for server in servers:
            with server.client() as one, server.client() as other:
                listener, user = Listener(one), log_in(other, user="a", **{"pass": "a"})
                try:
                    steps(user)
                    heard.append([listener.hear(subject) for subject in subjects])
                finally:
                    user.remove_streams()
        return heard

    return go


def test_streams_and_consumers_come_change_and_go(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        user.api("STREAM.UPDATE.S", {**STREAM, "max_msgs": 5})
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": {"durable_name": "C"}})
        user.api("CONSUMER.DELETE.S.C")
        user.api("STREAM.DELETE.S")

    words = ["STREAM.CREATED", "STREAM.UPDATED", "CONSUMER.CREATED", "CONSUMER.DELETED"]
    subjects = [f"$JS.EVENT.ADVISORY.{it}".encode() for it in (*words, "STREAM.DELETED")]
    ours, theirs = play(steps, subjects)

    assert same(dict(theirs)) == same(dict(ours))
    assert all(len(event["id"]) == 22 for _, event in ours)


@pytest.mark.parametrize("word", [b"-NAK", b"+TERM", b'+TERM  bad "one" '])
def test_messages_that_a_client_could_not_use(play, word):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        consumer = {"durable_name": "C", "ack_policy": "explicit"}
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": consumer})
        user.ask("s", b"x")
        user.ask("s", b"y")
        (_, first, _), (_, second, _) = pulled(user, "C", 2)
        user.ask(second.decode(), word)
        user.ask(first.decode(), b"+ACK")
        user.ask(second.decode(), b"+ACK")

    ours, theirs = play(steps, [b"$JS.EVENT.ADVISORY.CONSUMER.MSG_"])

    assert same(dict(theirs)) == same(dict(ours))


def test_a_message_that_is_given_up(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        consumer = {"durable_name": "C", "ack_policy": "explicit", "max_deliver": 2}
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": consumer})
        user.ask("s", b"x")
        for _ in range(2):
            [(_, reply, _)] = pulled(user, "C", 1)
            user.ask(reply.decode(), b"-NAK")
        user.ask("s", b"y")
        assert pulled(user, "C", 1)[0][2] == b"y"

    ours, theirs = play(steps, [ADVISORY + b"MAX_DELIVERIES"])

    assert same(dict(theirs)) == same(dict(ours))
    assert (ours[0][1]["stream_seq"], ours[0][1]["deliveries"]) == (1, 2)


@pytest.mark.parametrize("word", [b"", b"+ACK", b"+NXT"])
def test_acknowledgements_are_sampled(play, word):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        for name, more in (("N", {}), ("C", {"sample_freq": "100%"})):
            consumer = {"durable_name": name, "ack_policy": "explicit", **more}
            user.api(f"CONSUMER.CREATE.S.{name}", {"stream_name": "S", "config": consumer})
        for text in (b"x", b"y", b"z"):
            user.ask("s", text)
        (_, unsampled, _), *_ = pulled(user, "N", 2)
        (_, first, _), (_, second, _) = pulled(user, "C", 2)
        for reply, said in ((unsampled, b"+ACK"), (first, b"+TERM"), (first, b"+ACK")):
            user.ask(reply.decode(), said)
        user.send(second.decode(), word)

    ours, theirs = play(steps, [b"$JS.EVENT.METRIC.CONSUMER.ACK"])

    assert same(dict(theirs)) == same(dict(ours))
    assert ours[0][1]["stream_seq"] == 2
    assert ours[0][1]["ack_time"] > 0


def test_a_consumer_begins_paused(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        config = {"durable_name": "C", "pause_until": "2100-01-01T01:00:00Z"}
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})

    ours, theirs = play(steps, [ADVISORY + b"PAUSE"])

    assert in_order(theirs) == in_order(ours)
    assert ours[0][1]["paused"] is True


def test_a_pause_is_told_when_it_begins_and_ends(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        told = user.subscribe((ADVISORY + b"PAUSE.S.C").decode())
        config = {"durable_name": "C", "pause_until": "2100-01-01T00:00:00Z"}
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
        # The real server looks once more at the pause when it has answered, to tell of it.
        user.heard(told)
        for until in ("2101-01-01T00:00:00Z", "2101-01-01T00:00:00Z", "2001-01-01T00:00:00Z", ""):
            user.api("CONSUMER.PAUSE.S.C", {"pause_until": until} if until else b"")

    ours, theirs = play(steps, [ADVISORY + b"PAUSE"] * 4)

    assert in_any_order(theirs) == in_any_order(ours)
    assert [event["paused"] for _, event in ours] == [True, True, False, False]


def test_a_pause_ends_by_itself(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        config = {"durable_name": "C", "ack_policy": "explicit"}
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
        soon = datetime.now(UTC) + timedelta(seconds=0.5)
        user.api("CONSUMER.PAUSE.S.C", {"pause_until": soon.isoformat()})

    ours, theirs = play(steps, [ADVISORY + b"PAUSE"] * 2)
    # The real server says "paused" of the end as well where its timer comes before its clock does.
    paused = [[event.pop("paused") for _, event in events] for events in (ours, theirs)]
    for events in (ours, theirs):
        for _, event in events:
            del event["pause_until"]

    assert in_order(theirs) == in_order(ours)
    assert paused[0] == [True, False]
    assert paused[1][0] is True


def test_clients_are_pinned_and_no_more(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        groups = {"priority_policy": "pinned_client", "priority_groups": ["g"]}
        config = {"durable_name": "C", "ack_policy": "explicit", **groups}
        config["priority_timeout"] = 1_000_000_000
        user.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
        for text in (b"x", b"y"):
            user.ask("s", text)
            reply = user.listen()
            user.request("$JS.API.CONSUMER.MSG.NEXT.S.C", {"batch": 1, "group": "g"}, reply)
            user.heard(reply)
            if text == b"x":
                user.api("CONSUMER.UNPIN.S.C", {"group": "g"})

    words = [b"PINNED", b"UNPINNED", b"PINNED", b"UNPINNED"]
    ours, theirs = play(steps, [ADVISORY + word for word in words])

    assert in_order(theirs) == in_order(ours)
    assert [event.get("reason") for _, event in ours] == [None, "admin", None, "timeout"]
    assert all(len(event["pinned_id"]) == 22 for _, event in ours if "pinned_id" in event)


def test_each_request_is_audited(play):
    def steps(user):
        user.api("STREAM.CREATE.S", STREAM)
        user.api("STREAM.NAMES", {"offset": 0})
        user.api("STREAM.INFO.no")
        user.api("STREAM.LEADER.STEPDOWN.S")

    ours, theirs = play(steps, [b"$JS.EVENT.ADVISORY.API"] * 4)
    for events in (ours, theirs):
        for _, event in events:
            response = json.loads(event["response"])
            event["response"] = same(response)
            # What each says of its own clients differs in the order of names alone.
            event["client"] = {name: event["client"][name] for name in ("acc", "user", "kind")}

    assert in_any_order(theirs) == in_any_order(ours)
