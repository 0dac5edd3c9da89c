"""Quotas: what clients publish waits, or is refused, when it is more than they may."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from framework.dataplane import LinkKind, WebSocketFrames
from framework.testing.websocket import frame_bytes
from framework.tests.dataplane.conftest import Peer, Talk

REFUSED = b"-ERR 'Permissions Violation for Publish to \"%b\": quota exceeded'\r\n"


def published(subject: bytes, count: int, length: int = 2) -> bytes:
    return b"PUB %b %d\r\n%b\r\n" % (subject, length, b"x" * length) * count


def under(talk: Talk, *clients: Peer, **terms: object) -> int:
    """Put clients under one quota, and return its number."""
    quota = talk.core.add_quota(**terms)
    talk.core.give_quotas([(client.link, [quota]) for client in clients])
    talk.turn()
    return quota


def listener(talk: Talk) -> Peer:
    peer = talk.client()
    peer.say(b"SUB > 1\r\n")
    return peer


def count(peer: Peer) -> int:
    return peer.heard().count(b"MSG ")


def test_a_burst_passes_and_the_rest_comes_at_the_rate(talk: Talk) -> None:
    hears, client = listener(talk), talk.client()
    quota = under(talk, client, messages_per_s=10, burst_messages=5)
    client.say(published(b"a", 8) + b"PING\r\n")

    assert count(hears) == 5
    assert client.heard() == b""
    talk.turn(0.099)
    assert count(hears) == 0
    talk.turn(0.001)
    assert count(hears) == 1
    talk.turn(0.2)
    assert count(hears) == 2
    assert client.heard() == b"PONG\r\n"
    talk.turn(60)
    client.say(published(b"a", 9))
    assert count(hears) == 5
    passed, waits, refused = talk.core.quota_counters(quota)
    assert (passed, refused) == (13, 0)
    assert waits > 0


def test_others_go_on_while_one_waits(talk: Talk) -> None:
    hears, slow, other = listener(talk), talk.client(), talk.client()
    under(talk, slow, messages_per_s=1)
    slow.say(published(b"a", 3))
    other.say(published(b"b", 100))

    assert hears.heard().count(b"MSG b") == 100
    assert [row.stalls for row in talk.links() if row.link == slow.link] == [1]


def test_a_message_larger_than_the_burst_passes_and_is_paid_for_later(talk: Talk) -> None:
    hears, client = listener(talk), talk.client()
    under(talk, client, bytes_per_s=1000, burst_bytes=100)
    client.say(published(b"a", 1, 2100) + published(b"a", 1, 1))

    assert count(hears) == 1
    talk.turn(1.999)
    assert count(hears) == 0
    talk.turn(0.002)
    assert count(hears) == 1


def test_what_is_over_a_quota_that_refuses_is_dropped_and_told_once_a_second(talk: Talk) -> None:
    hears, client = listener(talk), talk.client()
    quota = under(talk, client, messages_per_s=1, burst_messages=2, refuses=True)
    client.say(published(b"a.b", 50) + b"PING\r\n")

    assert count(hears) == 2
    assert client.heard() == REFUSED % b"a.b" + b"PONG\r\n"
    assert talk.core.quota_counters(quota) == (2, 0, 48)
    talk.turn(1.5)
    client.say(published(b"a.b", 3))
    assert count(hears) == 1
    assert client.heard() == REFUSED % b"a.b"


def test_several_clients_share_one_and_one_has_several(talk: Talk) -> None:
    hears, one, two = listener(talk), talk.client(), talk.client()
    shared = talk.core.add_quota(messages_per_s=1, burst_messages=10)
    narrow = talk.core.add_quota(messages_per_s=1, burst_messages=3, subject=b"big.*")
    talk.core.give_quotas([(one.link, [shared, narrow]), (two.link, [shared])])
    talk.turn()
    one.say(published(b"big.x", 4))
    assert count(hears) == 3
    two.say(published(b"a", 20))

    assert count(hears) == 7


def test_what_clients_on_many_subjects_share_holds_within_one_turn_as_well(talk: Talk) -> None:
    hears, one, two = listener(talk), talk.client(), talk.client()
    shared = talk.core.add_quota(
        messages_per_s=1, burst_messages=20, bytes_per_s=1, burst_bytes=100
    )
    wide = talk.core.add_quota(messages_per_s=1, burst_messages=13)
    narrow = talk.core.add_quota(messages_per_s=1, burst_messages=2, subject=b"s.1.*")
    talk.core.give_quotas([(one.link, [narrow, wide, shared]), (two.link, [shared])])
    talk.turn()
    lines = b"".join(b"PUB s.%d.x %d\r\n%b\r\n" % (at, at, b"x" * at) for at in range(6))
    for link in (one.link, two.link, one.link, two.link):
        talk.core.feed(link, lines, talk.now_ns)
    talk.turn()
    heard = hears.heard().split(b"MSG ")[1:]

    assert (20, 4) == (len(heard), sum(it.startswith(b"s.1.x") for it in heard))
    assert [(20, 1), (12, 0), (2, 0)] == [
        talk.core.quota_counters(it)[:2] for it in (shared, wide, narrow)
    ]


def test_a_quota_on_a_subject_leaves_others_alone_also_with_remembered_lines(talk: Talk) -> None:
    hears, client = listener(talk), talk.client()
    under(talk, client, messages_per_s=1, subject=b"big.>", refuses=True)
    client.say(published(b"a", 100) + published(b"big.x", 10) + published(b"a", 100))

    heard = hears.heard()
    assert (heard.count(b"MSG a "), heard.count(b"MSG big.x ")) == (200, 1)


def test_a_change_is_in_force_for_who_waits(talk: Talk) -> None:
    hears, client = listener(talk), talk.client()
    quota = under(talk, client, messages_per_s=0.001)
    client.say(published(b"a", 3))
    assert count(hears) == 1
    talk.core.give_quotas([(client.link, [])])
    talk.core.drop_quota(quota)
    talk.turn()

    assert count(hears) == 2
    with pytest.raises(KeyError):
        talk.core.change_quota(quota, messages_per_s=1)


def test_terms_change_in_place(talk: Talk) -> None:
    hears, client = listener(talk), talk.client()
    quota = under(talk, client, messages_per_s=1)
    talk.core.change_quota(quota, messages_per_s=1000, burst_messages=20)
    talk.turn()
    client.say(published(b"a", 30))

    assert count(hears) == 20


def test_who_ends_while_it_waits_is_forgotten(talk: Talk) -> None:
    clients = [talk.client() for _ in range(40)]
    under(talk, *clients, messages_per_s=1)
    for client in clients:
        client.say(published(b"a", 2))
    for client in clients[::3]:
        talk.core.hang_up(client.link)
    talk.turn(1)
    talk.turn(3600)

    assert len(talk.links()) == 40 - len(clients[::3])


def test_what_makes_no_quota_is_refused(talk: Talk) -> None:
    client = talk.client()
    quotas = [talk.core.add_quota(messages_per_s=1) for _ in range(9)]
    with pytest.raises(ValueError, match="9 quotas are more than 8"):
        talk.core.give_quotas([(client.link, quotas)])
    with pytest.raises(ValueError, match="no negative"):
        talk.core.add_quota(messages_per_s=-1)
    with pytest.raises(ValueError, match="no negative"):
        talk.core.add_quota(bytes_per_s=float("nan"))
    with pytest.raises(ValueError, match="not a valid subject"):
        talk.core.add_quota(subject=b"a..b")


@dataclass
class Bucket:
    """A naive token bucket: of messages and bytes, with a queue before it."""

    rate: float
    burst: float
    byte_rate: float
    byte_burst: float

    def __post_init__(self) -> None:
        self.tokens, self.bytes = self.burst, self.byte_burst
        self.waiting: list[int] = []

    def step(self, seconds: float, lengths: list[int]) -> int:
        self.tokens = min(self.burst, self.tokens + seconds * self.rate)
        self.bytes = min(self.byte_burst, self.bytes + seconds * self.byte_rate)
        self.waiting += lengths
        passed = 0
        while self.waiting and self.tokens >= 0.999 and self.bytes > 1e-6:
            self.tokens -= 1
            self.bytes -= self.waiting.pop(0)
            passed += 1
        return passed


STEPS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 1.0, 3.5]), st.lists(st.sampled_from([1, 2, 64, 300]))),
    max_size=12,
)


@settings(deadline=None)
@example([(0.0, [64] * 5)], 1, 6, 1024)  # what is used up to the byte
@given(STEPS, st.sampled_from([1, 4, 16]), st.sampled_from([1, 6]), st.sampled_from([64, 1024]))
def test_it_equals_a_naive_bucket(
    steps: list[tuple[float, list[int]]], rate: int, burst: int, byte_rate: int
) -> None:
    talk = Talk()
    hears, client = listener(talk), talk.client()
    terms = {"messages_per_s": rate, "burst_messages": burst}
    under(talk, client, **terms, bytes_per_s=byte_rate, burst_bytes=byte_rate / 4)
    model = Bucket(rate, burst, byte_rate, byte_rate / 4)
    for seconds, lengths in steps:
        # What waits is taken at once when its time comes, and not in the steps of the model.
        got = 0
        for _ in range(int(seconds * 64)):
            talk.turn(1 / 64)
            got += count(hears)
        expected = sum(model.step(1 / 64, []) for _ in range(int(seconds * 64)))
        client.say(b"".join(published(b"a", 1, length) for length in lengths))
        got += count(hears)
        expected += model.step(0, lengths)

        assert got == expected


@pytest.mark.parametrize("length", [1, 5_000, 200_000])
@pytest.mark.parametrize("cut", [10**9, 1_000])
def test_a_link_behind_stages_waits_and_goes_on(talk: Talk, length: int, cut: int) -> None:
    hears = listener(talk)
    link = talk.core.open(LinkKind.CLIENT, "::1", 9, accepted=True, stages=(WebSocketFrames(),))
    client = Peer(talk, link)
    client.say(frame_bytes(b'CONNECT {"verbose":false,"pedantic":false}\r\n'))
    under(talk, client, messages_per_s=1, burst_messages=2)
    data = b"".join(published(b"a.%d" % number, 1, length) for number in range(5))
    frames = frame_bytes(data + b"PING\r\n")
    for at in range(0, len(frames), cut):
        client.say(frames[at : at + cut])

    assert count(hears) == 2
    for _ in range(3):
        client.heard()
        talk.turn(1)
        assert count(hears) == 1
    assert b"PONG" in client.heard()


@pytest.mark.parametrize("is_open", [True, False])
def test_a_client_may_wait_for_a_gate_and_for_a_quota(talk: Talk, is_open: bool) -> None:  # noqa: FBT001
    queue = talk.core.add_gate(0, b"gated", is_open=is_open, limit_s=0.5)
    hears, client = listener(talk), talk.client()
    under(talk, client, messages_per_s=1, burst_messages=2)
    client.say(published(b"gated", 3) + published(b"a", 2) + b"PING\r\n")
    heard = b""
    for _ in range(10):
        talk.turn(0.5)
        heard += hears.heard()

    assert queue is not None
    assert heard.count(b"MSG a ") == 2
    assert heard.count(b"MSG gated ") == (3 if is_open else 0)
    assert client.heard().endswith(b"PONG\r\n")


def test_a_request_over_a_quota_that_refuses_gets_a_status_each(talk: Talk) -> None:
    client = talk.client()
    client.say(b"SUB re.* 7\r\n")
    under(talk, client, messages_per_s=1, burst_messages=1, refuses=True)
    client.say(b"PUB a re.%d 0\r\n\r\n" * 3 % (1, 2, 3) + b"PUB a elsewhere 0\r\n\r\n")

    status = b"HMSG re.%d 7 48 48\r\nNATS/1.0 429 Quota Exceeded\r\nNats-Subject: a\r\n\r\n\r\n"
    assert client.heard() == status % 2 + REFUSED % b"a" + status % 3


def test_a_client_without_headers_gets_no_status(talk: Talk) -> None:
    client = talk.client(headers=False)
    client.say(b"SUB re 7\r\n")
    under(talk, client, messages_per_s=1, burst_messages=1, refuses=True)
    client.say(b"PUB a re 0\r\n\r\n" * 2)

    assert client.heard() == REFUSED % b"a"


def test_those_who_wait_for_one_quota_go_on_one_after_the_other(talk: Talk) -> None:
    hears = listener(talk)
    clients = [talk.client() for _ in range(40)]
    quota = under(talk, *clients, messages_per_s=100, burst_messages=1)
    for at, client in enumerate(clients):
        client.say(published(b"c%d" % at, 1))
    waited = talk.core.quota_counters(quota)[1]
    for _ in range(41):
        talk.turn(0.01)

    assert count(hears) == 40
    assert talk.core.quota_counters(quota)[1] - waited <= 2


def test_who_is_left_of_many_that_wait_does_not_wait_for_those_who_have_gone(talk: Talk) -> None:
    hears = listener(talk)
    clients = [talk.client() for _ in range(300)]
    under(talk, *clients, messages_per_s=10, burst_messages=1)
    for client in clients:
        client.say(published(b"a", 1))
    last = clients.pop()
    for client in clients:
        talk.core.hang_up(client.link)
    hears.heard()
    talk.turn(1.2)
    last.say(b"PING\r\n")

    assert count(hears) == 1
    assert last.heard() == b"PONG\r\n"
