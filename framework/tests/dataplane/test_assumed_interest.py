"""Peers that are sent everything until they say otherwise, beside a naive model of that."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framework.dataplane import LinkKind
from framework.dataplane.event import Greeting
from framework.tests.dataplane.conftest import Peer, Talk
from framework.tests.dataplane.test_dialects import KINDS

ACCOUNTS = ("$G", "A")
SUBJECTS = ("x", "y", "x.y", "x.z")


@pytest.fixture
def talk() -> Talk:
    return Talk(kinds=KINDS)


def optimist(talk: Talk) -> Peer:
    """Return a link to a server of the old kind."""
    return talk.server(LinkKind.GATEWAY, accounts=(), assumes_interest=True)


def messages(peer: Peer) -> list[bytes]:
    """Return the messages that a server was sent: account and subject."""
    return [b" ".join(it) for it in re.findall(rb"RMSG (\S+) (\S+)", peer.heard())]


def switch(talk: Talk, peer: Peer, account: int, *, ends: bool) -> None:
    """Say INFO, and let the core follow what it is taken for."""
    peer.say(b"INFO {}\r\n")
    assert talk.of(Greeting)[-1].parked
    talk.core.set_interest_told(peer.link, account, ends=ends)
    talk.core.resume(peer.link)
    talk.turn()


def test_all_is_sent_but_what_was_refused(talk: Talk) -> None:
    peer, client = optimist(talk), talk.client()
    peer.heard()
    client.say(b"PUB x 0\r\n\r\n" * 2 + b"PUB x.y 0\r\n\r\n")
    assert messages(peer) == [b"$G x", b"$G x", b"$G x.y"]

    peer.say(b"RS- $G x\r\nRS- $G x.y\r\nRS- A y\r\n")
    client.say(b"PUB x 0\r\n\r\n" * 2 + b"PUB x.y 0\r\n\r\nPUB y 0\r\n\r\n")
    assert messages(peer) == [b"$G y"]

    peer.say(b"RS+ $G x.*\r\n")
    client.say(b"PUB x 0\r\n\r\nPUB x.y 0\r\n\r\n")
    assert messages(peer) == [b"$G x.y"]

    peer.say(b"RS+ $G x\r\n")
    client.say(b"PUB x 0\r\n\r\n" * 2)
    assert messages(peer) == [b"$G x"] * 2


def test_a_request_that_went_to_nobody_else_is_answered_by_503(talk: Talk) -> None:
    peer, client = optimist(talk), talk.client(no_responders=True)
    client.say(b"SUB r 1\r\n")
    client.heard()
    client.say(b"PUB x r 0\r\n\r\n")
    assert client.heard() == b""

    peer.say(b"RS- $G x\r\n")
    assert b"503" in client.ask(b"PUB x r 0\r\n\r\n")


def test_an_account_that_is_refused_is_wanted_again(talk: Talk) -> None:
    peer, client = optimist(talk), talk.client()
    peer.say(b"RS- $G x\r\nA- $G\r\n")
    client.say(b"PUB x 0\r\n\r\nPUB y 0\r\n\r\n")
    assert messages(peer) == []

    peer.say(b"A+ $G\r\n")
    client.say(b"PUB x 0\r\n\r\nPUB y 0\r\n\r\n")
    assert messages(peer) == [b"$G x", b"$G y"]


def test_queue_groups_of_a_refused_subject_are_served(talk: Talk) -> None:
    peer, client = optimist(talk), talk.client()
    peer.say(b"RS+ $G x g 1\r\nRS- $G x\r\n")
    peer.heard()

    client.say(b"PUB x 0\r\n\r\n")
    assert peer.heard() == b"RMSG $G x | g 0\r\n\r\n"


def test_told_interest_takes_the_place_of_what_was_assumed(talk: Talk) -> None:
    peer, client = optimist(talk), talk.client()
    peer.say(b"RS- $G x\r\n")
    switch(talk, peer, 0, ends=False)
    peer.say(b"RS+ $G x.y\r\n")
    client.say(b"PUB x 0\r\n\r\nPUB y 0\r\n\r\n")
    assert messages(peer) == [b"$G y"]

    switch(talk, peer, 0, ends=True)
    client.say(b"PUB x 0\r\n\r\nPUB y 0\r\n\r\nPUB x.y 0\r\n\r\n")
    assert messages(peer) == [b"$G x.y"]

    peer.say(b"RS- $G x.y\r\n")
    client.say(b"PUB x.y 0\r\n\r\n")
    assert messages(peer) == []


def test_accounts_that_come_later_are_wanted(talk: Talk) -> None:
    peer = optimist(talk)
    peer.say(b"A- B\r\n")
    account = talk.core.add_account(b"A")
    talk.turn()
    talk.core.publish(account, [(b"x", b"", b"", b"")])

    assert messages(peer) == [b"A x"]


def test_what_was_assumed_ends_with_the_link(talk: Talk) -> None:
    peer, client = optimist(talk), talk.client()
    peer.say(b"RS- $G x\r\n")
    talk.core.hang_up(peer.link)
    talk.turn()
    client.say(b"PUB x 0\r\n\r\nPUB y 0\r\n\r\n")

    assert talk.core.sublist_counters().count == 0


def test_a_peer_that_tells_its_interest_may_ask_for_all(talk: Talk) -> None:
    peer, client = talk.server(LinkKind.GATEWAY, accounts=()), talk.client()
    client.say(b"PUB x 0\r\n\r\n")
    assert messages(peer) == []

    peer.say(b"A- $G\r\nA+ $G\r\n")
    client.say(b"PUB x 0\r\n\r\n")
    assert messages(peer) == [b"$G x"]

    peer.say(b"RS- $G x\r\n")
    client.say(b"PUB x 0\r\n\r\nPUB y 0\r\n\r\n")
    assert messages(peer) == [b"$G y"]


def test_a_peer_that_sends_unasked_is_told_once_of_an_account_that_is_not_here(talk: Talk) -> None:
    peer = talk.server(LinkKind.GATEWAY, tells_unknown=True)
    peer.heard()

    assert peer.ask(b"RMSG B x 0\r\n\r\n" * 2 + b"RMSG $G x 0\r\n\r\n") == b"A- B\r\n"
    assert peer.ask(b"RMSG C x 0\r\n\r\nRMSG B y 0\r\n\r\n") == b"A- C\r\n"


def test_another_peer_is_told_nothing_of_it(talk: Talk) -> None:
    peer = talk.server(LinkKind.GATEWAY)
    peer.heard()

    assert peer.ask(b"RMSG B x 0\r\n\r\n") == b""


def test_refusals_without_end_are_let_be(talk: Talk) -> None:
    peer, client = optimist(talk), talk.client()
    for start in range(0, 70_000, 1_000):
        peer.say(b"".join(b"RS- $G s.%d\r\n" % it for it in range(start, start + 1_000)))
    client.say(b"PUB s.0 0\r\n\r\nPUB s.69999 0\r\n\r\n")

    assert messages(peer) == [b"$G s.69999"]


class Model:
    """What such a peer is sent, said naively."""

    def __init__(self) -> None:
        self.modes = dict.fromkeys(ACCOUNTS, "assumed")
        self.is_all_sent: dict[str, bool] = {}
        self.refused: dict[str, set[str]] = {name: set() for name in ACCOUNTS}
        self.told: dict[str, set[str]] = {name: set() for name in ACCOUNTS}

    def follow(self, what: str, account: str, subject: str) -> None:
        mode, refused, told = self.modes[account], self.refused[account], self.told[account]
        match what:
            case "RS-" if mode == "assumed":
                refused.add(subject)
            case "RS-":
                told.discard(subject)
            case "RS+":
                refused -= {it for it in refused if matches(subject, it)}
                if mode in {"switching", "told"}:
                    told.add(subject)
            case "A-":
                self.modes[account] = "nothing"
                refused.clear()
                told.clear()
            case "A+":
                self.modes[account] = "assumed"
                refused.clear()
                told.clear()
            case "begins":
                self.is_all_sent[account] = self.sends_all(account)
                self.modes[account] = "switching"
            case "ends":
                self.modes[account] = "told"
                refused.clear()

    def sends_all(self, account: str) -> bool:
        mode = self.modes[account]
        return mode == "assumed" or (mode == "switching" and self.is_all_sent[account])

    def wants(self, account: str, subject: str) -> bool:
        told = any(matches(it, subject) for it in self.told[account])
        return told or (self.sends_all(account) and subject not in self.refused[account])


def matches(pattern: str, subject: str) -> bool:
    words, tokens = pattern.split("."), subject.split(".")
    return len(words) == len(tokens) and all(
        a in ("*", b) for a, b in zip(words, tokens, strict=True)
    )


STEP = st.tuples(
    st.sampled_from(["RS-", "RS+", "A-", "A+", "begins", "ends"]),
    st.sampled_from(ACCOUNTS),
    st.sampled_from((*SUBJECTS, "x.*")),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(STEP, max_size=25))
def test_any_order_of_what_is_said_is_as_the_model_has_it(
    steps: list[tuple[str, str, str]],
) -> None:
    talk = Talk(kinds=KINDS)
    talk.core.add_account(b"A")
    peer, model = optimist(talk), Model()
    for what, account, subject in steps:
        if what == "RS-" and "*" in subject and model.modes[account] == "assumed":
            continue  # nobody publishes to a wildcard, so none is refused
        model.follow(what, account, subject)
        if what in {"begins", "ends"}:
            switch(talk, peer, ACCOUNTS.index(account), ends=what == "ends")
        elif what in {"A+", "A-"}:
            peer.say(f"{what} {account}\r\n".encode())
        else:
            peer.say(f"{what} {account} {subject}\r\n".encode())
        peer.heard()
    for number, account in enumerate(ACCOUNTS):
        for subject in SUBJECTS:
            talk.core.publish(number, [(subject.encode(), b"", b"", b"")])
            got = messages(peer)

            assert got == [f"{account} {subject}".encode()] * model.wants(account, subject)
