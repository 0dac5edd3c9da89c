"""The handshake that all protocols between servers have in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct
from typing_extensions import override

from framework.errors import ProtocolError
from framework.peering import (
    ArmTimer,
    CheckPassword,
    Close,
    Handshake,
    HandshakeEvent,
    Login,
    Noted,
    Phase,
    Resume,
)
from framework.wire.closed_state import ClosedState

if TYPE_CHECKING:
    from collections.abc import Sequence


class Credentials(Struct):
    user: str = ""
    password: str = ""


class Asked(Struct):
    user: str


class Protocol(Handshake[Credentials]):
    title = "Test"

    @override
    def _open(self) -> Sequence[Any]:
        return [self._await_connect()]

    @override
    def _parse_connect(self, document: bytes) -> Credentials:
        try:
            return Credentials(**json.loads(document))
        except ValueError as error:
            reason = ClosedState.PROTOCOL_VIOLATION
            raise ProtocolError("no JSON", text="Invalid JSON", reason=reason) from error

    @override
    def _claim(self, connect: Credentials) -> Sequence[Any]:
        return [Asked(connect.user)]

    @override
    def _take_info(self, document: bytes) -> Sequence[Any]:
        self._phase = Phase.INTRODUCED
        return [document]

    @override
    def _take_update(self, document: bytes) -> Sequence[Any]:
        return [document]

    def _take_admitted(self) -> Sequence[Any]:
        self._phase = Phase.REGISTERED
        return []


def opened(login: Login) -> Protocol:
    machine = Protocol(login=login, is_dialed=False)
    assert machine.receive_opened() == [ArmTimer(login.timeout_s)]
    return machine


def test_every_step_is_a_method_and_every_phase_is_reached() -> None:
    steps = [step for steps in Handshake.PHASES.values() for step in steps.values()]

    assert all(callable(getattr(Protocol, step.handle)) for step in steps)
    assert set(Handshake.PHASES) == set(Phase)
    assert {phase for step in steps for phase in step.leads_to} == set(Phase) - {Phase.CREATED}


def test_who_logs_in_is_claimed_and_introduced() -> None:
    machine = opened(Login("a", "b"))

    assert machine.receive_connect(b'{"user": "a", "password": "b"}') == [Asked("a")]
    assert machine.receive_claim_accepted() == [Resume()]
    assert machine.receive_info(b"{}") == [b"{}"]
    assert machine._receive(HandshakeEvent.ADMITTED) == []
    assert machine.receive_timeout() == []
    assert machine.receive_info(b"later") == [b"later"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b'{"user": "a", "password": "c"}', ClosedState.AUTHENTICATION_VIOLATION),
        (b"{", ClosedState.PROTOCOL_VIOLATION),
    ],
)
def test_who_does_not_log_in_is_closed(said: bytes, reason: ClosedState) -> None:
    noted, closed = opened(Login("a", "b")).receive_connect(said)

    assert isinstance(noted, Noted)
    assert isinstance(closed, Close)
    assert closed.reason is reason


@pytest.mark.parametrize("is_right", [True, False])
def test_a_password_that_is_kept_as_a_hash_is_checked_elsewhere(is_right: bool) -> None:  # noqa: FBT001
    machine = opened(Login("a", "$2a$04$hash"))

    assert machine.receive_connect(b'{"user": "a", "password": "b"}') == [
        CheckPassword("$2a$04$hash", "b")
    ]
    effects = machine.receive_password_checked(is_right=is_right)

    assert (effects == [Asked("a")]) is is_right


def test_who_does_not_know_the_user_costs_no_check() -> None:
    effects = opened(Login("a", "$2a$04$hash")).receive_connect(b'{"user": "c"}')

    assert isinstance(effects[-1], Close)


def test_silence_ends() -> None:
    [closed] = opened(Login()).receive_timeout()

    assert closed == Close(ClosedState.AUTHENTICATION_TIMEOUT, "Authentication Timeout")


def test_a_peer_that_complains_is_closed_and_quoted_within_bounds() -> None:
    noted, closed = opened(Login()).receive_err(b"x" * 1_000_000)

    assert noted.event == "Test Error '{detail}'"
    assert len(noted.fields["detail"]) == 256
    assert closed.reason is ClosedState.PARSE_ERROR
