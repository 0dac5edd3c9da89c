"""The handshake of one connection, by the script `scripts/handshake.txt`."""

from __future__ import annotations

import json

import pytest
from framework_route.effect import (
    Answered,
    Claim,
    Outdated,
    PoolSlot,
    Register,
)
from framework_route.machine import ConnectionMachine
from framework_route.modes import MODES
from framework_route.url import parse_route_url

from framework.peering import (
    Close,
    Compressed,
    Compression,
    CompressionTerms,
    EncodeLink,
    HandshakeEvent,
    Introduce,
    Login,
    Noted,
    Phase,
    Update,
)
from framework.testing.peering import HandshakeScript
from framework.wire.closed_state import ClosedState
from framework.wire.info import RouteInfo

LOCAL = RouteInfo(
    server_id="NA",
    server_name="a",
    proto=3,
    host="127.0.0.1",
    port=4248,
    headers=True,
    cluster="c1",
    route_pool_size=3,
)
BY_NAME = {mode.name: mode for mode in MODES}
OFF = Compression(CompressionTerms("off"), BY_NAME)


def wanted(mode: str) -> Compression:
    return Compression(CompressionTerms(mode), BY_NAME)


class Handshakes(HandshakeScript):
    """Drives one machine by the commands of a script."""

    def show(self, effect) -> str:  # noqa: PLR0911 -- one line a case
        match effect:
            case EncodeLink(choice):
                name = choice.codec.name if choice.codec else choice.coding.name
                return f"encode {name}"
            case Register(slot, headers, traces, origins):
                place = f"account={slot.account}" if slot.account else f"index={slot.pool_index}"
                said = f"headers={headers} traces={traces} origins={origins}"
                return f"register {place} of {slot.assigned_size} {said}"
            case Answered():
                return "answered"
            case Compressed(text):
                return f"compressed: {text}"
            case Outdated():
                return "outdated"
            case Claim(remote_id, cluster, is_dynamic):
                return f"claim {remote_id} cluster={cluster} dynamic={is_dynamic}"
            case Introduce(info):
                return f"introduce {info.server_id} name={info.server_name} cluster={info.cluster}"
            case Update(info):
                return f"update {info.server_id} ldm={info.ldm}"
        raise AssertionError(effect)

    def open(self, how, command):
        if how not in {"accepted", "solicited"}:
            return None
        arguments = command.arguments
        return ConnectionMachine(
            local=LOCAL,
            login=Login(arguments.get("user", ""), arguments.get("password", "")),
            compression=wanted(arguments.get("mode", "off")),
            url=parse_route_url(arguments["url"]) if how == "solicited" else None,
            account=arguments.get("account", ""),
        )

    def perform_own(self, command):
        arguments = command.arguments
        if command.name == "reload":
            return self.machine.receive_reload(wanted(arguments["mode"]))
        assert command.name == "admitted"
        slot = PoolSlot(1, int(arguments.get("index", 0)), 3, arguments.get("account", ""))
        return self.machine.receive_admitted(slot, LOCAL)


def test_handshakes(run_script):
    run_script("handshake.txt", Handshakes().handle)


def info(**fields) -> bytes:
    return json.dumps({"server_id": "NB", "cluster": "c1"} | fields).encode()


@pytest.fixture
def solicited() -> ConnectionMachine:
    url = parse_route_url("b:4248")
    machine = ConnectionMachine(local=LOCAL, login=Login(), compression=OFF, url=url)
    machine.receive_opened()
    return machine


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"[" * 100_000,
        b'{"a":' * 20_000,
        b'{"server_id":' + b"9" * 5_000 + b"}",
        b'{"server_id":"NB","port":' + b"9" * 30 + b"}",
        b"{" + b" " * 70_000 + b"}",
        b"\xff\xfe\x00",
        info(server_id=""),
        info(server_id=7),
        info(server_id="N" * 300),
        info(server_id="N\r\nRS+ $G x"),
        info(server_name="a\x1b[31m"),
        info(cluster={"name": "c1"}),
        info(connect_urls="127.0.0.1:4222"),
        info(connect_urls=[1, 2]),
        info(port="4248"),
        info(headers="yes"),
        info(ip=["x"]),
        info(import_=1).replace(b"import_", b"import"),
    ],
    ids=range(23),
)
def test_closes_on_an_info_that_no_server_sends(solicited, document):
    effects = solicited.receive_info(document)

    assert effects[-1] == Close(ClosedState.PROTOCOL_VIOLATION, "Parser Error")
    assert all(isinstance(effect, Noted) for effect in effects[:-1])
    assert solicited.receive_info(info()) == []


def test_keeps_a_bounded_number_of_client_urls_that_may_be_shown(solicited):
    urls = ["10.0.0.1:4222\r\nPING", "x" * 400, *(f"10.0.0.1:{port}" for port in range(1, 1000))]
    _, introduced = solicited.receive_info(info(connect_urls=urls))

    assert introduced.info.connect_urls == tuple(f"10.0.0.1:{port}" for port in range(1, 129))


def machine_in(phase):
    machine = ConnectionMachine(local=LOCAL, login=Login(), compression=OFF, url=None)
    machine._phase = phase
    return machine


def test_every_phase_is_in_the_table_and_is_reached():
    table = ConnectionMachine.PHASES
    reached, found = {Phase.CREATED}, [Phase.CREATED]
    while found:
        steps = table[found.pop()].values()
        new = {phase for step in steps for phase in step.leads_to} - reached
        reached |= new
        found += new

    assert list(Phase) == list(table)
    assert set(Phase) == reached


@pytest.mark.parametrize("event", HandshakeEvent)
def test_an_event_is_handled_in_its_phases_and_ignored_in_all_others(event):
    handled = {phase for phase, steps in ConnectionMachine.PHASES.items() if event in steps}
    ignored = set(Phase) - handled

    assert handled
    assert Phase.CLOSED in ignored
    for phase in ignored:
        machine = machine_in(phase)
        assert machine._receive(event) == []
        assert machine._phase is phase


def test_a_step_that_leads_where_the_table_does_not_is_a_mistake(monkeypatch):
    steps = {**ConnectionMachine.PHASES[Phase.CREATED]}
    steps[HandshakeEvent.OPENED] = steps[HandshakeEvent.OPENED]._replace(
        leads_to=(Phase.REGISTERED,)
    )
    monkeypatch.setitem(ConnectionMachine.PHASES, Phase.CREATED, steps)

    with pytest.raises(AssertionError, match="CONNECT_AWAITED"):
        machine_in(Phase.CREATED).receive_opened()
