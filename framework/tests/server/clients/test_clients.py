from __future__ import annotations

import json
from typing import Any

import pytest
from structlog.testing import CapturingLogger

from framework.server.accounts.accounts import Accounts
from framework.server.clients.client_commands import ClientCommands
from framework.server.clients.client_effects import (
    Began,
    Close,
    Ended,
    Identify,
    Noted,
    Resume,
)
from framework.server.clients.clients import Clients
from framework.spec import (
    Closed,
    ClosedState,
    ConnectionInfo,
    Greeting,
    LinkKind,
    Opened,
    Traced,
)
from framework.spec.tracing import TRACE_LEVEL


class Log(CapturingLogger):
    def __init__(self, *, debug: bool = True) -> None:
        super().__init__()
        self._debug = debug

    def bind(self, **fields: Any) -> Log:
        self.bound = fields
        return self

    def is_enabled_for(self, level: int) -> bool:
        return self._debug or level > 10

    def lines(self) -> list[tuple[str, str, dict[str, Any]]]:
        return [(it.method_name, it.args[0], it.kwargs) for it in self.calls]


class Notices:
    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def report_opened(self, connection: ConnectionInfo) -> None:
        self.heard.append(("opened", connection))

    def report_closed(self, connection: ConnectionInfo, reason: ClosedState) -> None:
        self.heard.append(("closed", connection, reason))


def opened(link: int) -> Opened:
    return Opened(link, LinkKind.CLIENT, link, "127.0.0.1", 4_000 + link, 0, 0)


def greeting(link: int, document: object) -> Greeting:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Greeting(link, LinkKind.CLIENT, "CONNECT", data, parked=True)


@pytest.fixture
def closed(row: Any) -> Any:
    def make(
        link: int, reason: ClosedState = ClosedState.CLIENT_CLOSED, detail: str = ""
    ) -> Closed:
        return Closed(link, LinkKind.CLIENT, reason, detail, row(link), 9)

    return make


class Performed:
    """A client table whose effects are performed on a plane of the test."""

    def __init__(
        self, plane: Any, *, headers: bool, notices: Notices | None, log: Any, closed_max: int
    ) -> None:
        accounts: Any = Accounts(plane, log=log)
        self.table = Clients(
            accounts=accounts, headers=headers, tls_peers={}, closed_max=closed_max
        )
        self._commands = ClientCommands(
            plane,
            self.table,
            accounts=accounts,
            headers=headers,
            notices=notices,
            log=log,
            describe=lambda _: (b"{}", b"{}"),
            tls_peers={},
        )

    def receive(self, events: Any) -> None:
        self._commands.receive(events, 1_000.0)


def table(plane: Any, **changes: Any) -> Performed:
    arguments = {"headers": True, "notices": None, "log": Log(), "closed_max": 9, **changes}
    return Performed(plane, **arguments)


def test_a_client_may_begin(plane: Any) -> None:
    notices = Notices()
    clients = table(plane, notices=notices)
    document = {
        "verbose": False,
        "protocol": 1,
        "headers": True,
        "no_responders": True,
    }
    clients.receive([opened(1), greeting(1, {**document, "name": "me", "lang": "python"})])

    expected = {
        "account": 0,
        "verbose": False,
        "pedantic": True,
        "echo": True,
        "headers": True,
        "no_responders": True,
        "protocol": 1,
    }
    assert plane.holding == 0
    assert plane.named("resume_client") == [((1,), expected)]
    assert len(clients.table) == 1
    assert clients.table.links() == (1,)
    assert clients.table.connect_of(1).name == "me"
    assert [(it[0], it[1].cid, it[1].lang) for it in notices.heard] == [("opened", 1, "python")]


@pytest.mark.parametrize(
    ("document", "words", "reason"),
    [
        (
            {"protocol": 2},
            b"-ERR 'invalid client protocol'\r\n",
            ClosedState.BAD_CLIENT_PROTOCOL_VERSION,
        ),
        (
            {"protocol": -1},
            b"-ERR 'invalid client protocol'\r\n",
            ClosedState.BAD_CLIENT_PROTOCOL_VERSION,
        ),
        (
            {"no_responders": True},
            b"-ERR 'no responders requires headers support'\r\n",
            ClosedState.NO_RESPONDERS_REQUIRES_HEADERS,
        ),
        (
            {"account": "x"},
            b"-ERR 'Authorization Violation'\r\n",
            ClosedState.AUTHENTICATION_VIOLATION,
        ),
        (b"{bad", b"-ERR 'Parser Error'\r\n", ClosedState.PROTOCOL_VIOLATION),
        (b"[" * 5_000, b"-ERR 'Parser Error'\r\n", ClosedState.PROTOCOL_VIOLATION),
        (b"[]", b"-ERR 'Parser Error'\r\n", ClosedState.PROTOCOL_VIOLATION),
        ({"protocol": "1"}, b"-ERR 'Parser Error'\r\n", ClosedState.PROTOCOL_VIOLATION),
    ],
)
def test_a_client_is_refused(
    plane: Any, document: object, words: bytes, reason: ClosedState
) -> None:
    notices = Notices()
    clients = table(plane, notices=notices)
    clients.receive([opened(1), greeting(1, document)])

    assert plane.calls == [("close", (1, reason, words), {})]
    assert notices.heard == []


def test_traced_lines_name_the_client(plane: Any) -> None:
    log = Log()
    clients = table(plane, log=log)
    traced = Traced(1, LinkKind.CLIENT, inbound=True, text=b"PING")
    clients.receive([traced, opened(1), greeting(1, {"name": "me", "user": "joe"}), traced])

    (_, created, _), (name, level, fields) = log.lines()
    assert created == "Client connection created"
    assert (name, level, fields) == ("log", TRACE_LEVEL, {"detail": "PING"})
    assert log.bound == {
        "remote": "127.0.0.1:4001",
        "cid": 1,
        "client": "me",
        "login": "$G/user:joe",
    }


def test_without_headers_nobody_gets_them(plane: Any) -> None:
    clients = table(plane, headers=False)
    clients.receive([opened(1), opened(2)])
    clients.receive([greeting(1, {"headers": True})])
    clients.receive([greeting(2, {"headers": True, "no_responders": True})])

    assert plane.named("resume_client")[0][1]["headers"] is False
    assert plane.named("close")[0][0][1] is ClosedState.NO_RESPONDERS_REQUIRES_HEADERS


def test_a_second_connect_is_taken(plane: Any) -> None:
    notices = Notices()
    clients = table(plane, notices=notices)
    clients.receive([opened(1), greeting(1, {"echo": True}), greeting(1, {"echo": False})])

    assert [it[1]["echo"] for it in plane.named("resume_client")] == [True, False]
    assert len(notices.heard) == 1


def test_a_client_that_is_gone(plane: Any, closed: Any) -> None:
    notices = Notices()
    clients = table(plane, notices=notices)
    clients.receive([opened(1), greeting(1, {"name": "me"}), closed(1)])

    assert len(clients.table) == 0
    assert clients.table.accepted_count == 1
    assert clients.table.connect_of(1) is None
    assert [(it.row.cid, it.connect.name, it.closed_ns) for it in clients.table.closed] == [
        (1, "me", 9)
    ]
    assert notices.heard[1][0] == "closed"
    assert notices.heard[1][1] == notices.heard[0][1]


def test_a_client_that_never_connected_is_no_connection_for_plugins(
    plane: Any, closed: Any
) -> None:
    notices = Notices()
    clients = table(plane, notices=notices)
    clients.receive([opened(1), closed(1)])

    assert notices.heard == []
    assert clients.table.closed[0].connect is None


def test_only_the_latest_that_are_gone_are_remembered(plane: Any, closed: Any) -> None:
    clients = table(plane, closed_max=2)
    for link in (1, 2, 3):
        clients.receive([opened(link), closed(link)])

    assert [it.row.cid for it in clients.table.closed] == [2, 3]


def test_lines_of_the_log(plane: Any, closed: Any) -> None:
    log = Log()
    clients = table(plane, log=log)
    clients.receive([opened(1), greeting(1, {"version": "1", "lang": "python", "name": "me"})])
    clients.receive([closed(1, ClosedState.MAX_PAYLOAD_EXCEEDED)])

    where = {"remote": "127.0.0.1:4001", "cid": 1}
    reason = {"reason": "Maximum Message Payload Exceeded"}
    assert log.lines() == [
        ("debug", "Client connection created", where),
        ("error", "maximum payload exceeded", {}),
        ("debug", "Client connection closed: {reason}", reason),
    ]
    assert log.bound == {**where, "client": "v1:python:me"}


def test_without_debug_the_coming_and_going_of_clients_is_not_logged(
    plane: Any, closed: Any
) -> None:
    log = Log(debug=False)
    clients = table(plane, log=log)
    clients.receive([opened(1), greeting(1, {}), closed(1, ClosedState.READ_ERROR)])

    assert log.lines() == []


def test_events_of_unknown_links_are_ignored(plane: Any, closed: Any) -> None:
    clients = table(plane)
    clients.receive([greeting(1, {}), closed(1)])

    assert plane.calls == []
    assert not clients.table.closed


def test_the_table_says_what_is_to_be_done_and_does_none_of_it(plane: Any, closed: Any) -> None:
    clients = Clients(accounts=Accounts(plane, log=Log()), headers=True, tls_peers={})  # type: ignore[arg-type]

    def kinds(event: Any) -> list[type]:
        return [type(effect) for effect in clients.receive(event, 1_000.0)]

    assert kinds(opened(1)) == []
    assert kinds(greeting(1, {"name": "me"})) == [Identify, Resume, Began]
    assert kinds(greeting(1, {"name": "me", "echo": False})) == [Resume]
    assert kinds(greeting(1, b"{bad")) == [Noted, Close]
    assert kinds(closed(1)) == [Ended]
    assert kinds(closed(1)) == []
    assert plane.calls == []
