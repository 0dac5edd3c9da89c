"""Logging in: the chain of authenticators, and what clients and the log see of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import CapturingLogger

from framework.actors import ActorSystem, Reply, SimulatedDispatcher
from framework.server.accounts.accounts import Accounts
from framework.server.clients.client_commands import ClientCommands
from framework.server.clients.client_listener import ClientListener
from framework.server.clients.clients import Clients
from framework.spec import (
    Accepted,
    Authenticator,
    Closed,
    ClosedState,
    Greeting,
    LinkEvents,
    LinkKind,
    Opened,
    Refused,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import ConnectionInfo, LoginAnswer, LoginRequest

VIOLATION = b"-ERR 'Authorization Violation'\r\n"


class Log(CapturingLogger):
    def bind(self, **_fields: Any) -> Log:
        return self

    def is_enabled_for(self, level: int) -> bool:
        return level > 10

    def lines(self) -> list[tuple[str, dict[str, Any]]]:
        return [(it.args[0], it.kwargs) for it in self.calls]


class Notices:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def report_opened(self, connection: ConnectionInfo) -> None:
        self.heard.append(("opened", connection.user))

    def report_closed(self, connection: ConnectionInfo, reason: ClosedState) -> None:
        self.heard.append(("closed", f"{connection.user} {reason.text}"))


def opened(link: int) -> Opened:
    return Opened(link, LinkKind.CLIENT, link, "127.0.0.1", 4_000 + link, 0, 0)


def connect(link: int, **fields: str) -> Greeting:
    inside = ",".join(f'"{name}":"{value}"' for name, value in fields.items())
    return Greeting(link, LinkKind.CLIENT, "CONNECT", b"{%b}" % inside.encode(), parked=True)


class World:
    """Clients and their listener, with authenticators of the test."""

    def __init__(self, plane: Any, *authenticate: Callable[..., Any], waiting_max: int = 9) -> None:
        self.plane = plane
        self.log = Log()
        self.dispatcher = SimulatedDispatcher()
        self.started_ns = self.dispatcher.now_ns()
        self.notices = Notices()
        accounts = Accounts(plane, log=self.log)
        self.clients = Clients(accounts=accounts, headers=True, tls_peers={})
        commands = ClientCommands(
            plane,
            self.clients,
            accounts=accounts,
            headers=True,
            notices=self.notices,
            log=self.log,  # type: ignore[arg-type]
            describe=lambda client: (b"{}", client.account.encode()),
            tls_peers={},
        )
        self.clients.set_logins(
            [Authenticator(name=f"a{n}", authenticate=it) for n, it in enumerate(authenticate)],
            waiting_max=waiting_max,
        )
        self.system = ActorSystem(self.dispatcher, name="test")
        self.listener = self.system.spawn(
            ClientListener, clients=self.clients, commands=commands, wall_s=self.wall_s
        )

    def wall_s(self) -> float:
        return 1_000.25 + (self.dispatcher.now_ns() - self.started_ns) / 1e9

    def tell(self, *events: Any) -> None:
        self.listener.tell(LinkEvents(events))
        self.dispatcher.run_ready()

    def begun(self) -> list[int]:
        return [arguments[0] for arguments, _ in self.plane.named("resume_client")]

    def closed(self) -> list[tuple[Any, ...]]:
        return [arguments for arguments, _ in self.plane.named("close")]


def answering(answer: object) -> Callable[[LoginRequest], Reply[LoginAnswer]]:
    def authenticate(_request: LoginRequest) -> Reply[Any]:
        reply: Reply[Any] = Reply()
        reply.set(answer)
        return reply

    return authenticate


def test_who_is_accepted_begins(plane: Any) -> None:
    asked = []

    def authenticate(request: LoginRequest) -> Reply[LoginAnswer]:
        asked.append(request)
        return answering(Accepted("joe"))(request)

    world = World(plane, authenticate)
    world.tell(opened(1), connect(1, user="j", **{"pass": "hidden"}))

    assert [(it.cid, it.host, it.port, it.connect.password) for it in asked] == [
        (1, "127.0.0.1", 4_001, "hidden")
    ]
    assert "hidden" not in repr(asked)
    assert world.begun() == [1]
    assert world.clients.connect_of(1).user == "joe"  # type: ignore[union-attr]
    assert world.clients.connect_of(1).password == ""  # type: ignore[union-attr]
    assert world.notices.heard == [("opened", "joe")]


def test_nobody_begins_before_the_answer(plane: Any) -> None:
    reply: Reply[LoginAnswer] = Reply()
    world = World(plane, lambda _: reply)
    world.tell(opened(1), connect(1, user="joe"))

    assert plane.calls == []
    reply.set(Accepted("joe"))
    world.dispatcher.run_ready()
    assert world.begun() == [1]


def test_who_is_refused_is_closed(plane: Any, row: Any) -> None:
    world = World(plane, answering(Refused()))
    world.tell(opened(1), connect(1, user="joe", **{"pass": "hidden"}))
    reason = ClosedState.AUTHENTICATION_VIOLATION

    assert world.begun() == []
    assert world.closed() == [(1, reason, VIOLATION)]
    world.tell(Closed(1, LinkKind.CLIENT, reason, "", row(1), 9))
    assert world.notices.heard == []
    (gone,) = world.clients.closed
    assert gone.connect is not None
    assert (gone.connect.user, gone.connect.password) == ("joe", "")
    assert [text for text, _ in world.log.lines()] == ['authentication error - User "{user}"']


@pytest.mark.parametrize(
    ("sent", "line", "user"),
    [
        ({"user": "joe"}, 'authentication error - User "{user}"', "joe"),
        ({"auth_token": "t"}, 'authentication error - Token "[REDACTED]"', None),
        ({}, "authentication error", None),
    ],
    ids=["user", "token", "nothing"],
)
def test_lines_of_the_log(plane: Any, sent: dict[str, str], line: str, user: str | None) -> None:
    world = World(plane, answering(Refused("why")))
    world.tell(opened(1), connect(1, **sent))
    ((text, fields),) = world.log.lines()

    assert (text, fields.get("user"), fields["detail"]) == (line, user, "why")


def test_who_speaks_before_it_logs_in_is_named_in_the_log(plane: Any, row: Any) -> None:
    world = World(plane, answering(Accepted("joe")))
    reason = ClosedState.AUTHENTICATION_VIOLATION
    world.tell(opened(1), Closed(1, LinkKind.CLIENT, reason, "", row(1), 9))

    assert [text for text, _ in world.log.lines()] == ["authentication error"]


@pytest.mark.parametrize(
    ("answers", "asked", "begins"),
    [
        ([None, Accepted("x")], [0, 1], True),
        ([None, Refused()], [0, 1], False),
        ([None, None], [0, 1], False),
        ([Accepted("x"), Refused()], [0], True),
        ([Refused(), Accepted("x")], [0], False),
    ],
    ids=["pass-accept", "pass-refuse", "pass-pass", "accept", "refuse"],
)
def test_authenticators_are_asked_until_one_decides(
    plane: Any, answers: list[LoginAnswer], asked: list[int], *, begins: bool
) -> None:
    seen = []

    def authenticator(number: int) -> Callable[[LoginRequest], Reply[LoginAnswer]]:
        def authenticate(request: LoginRequest) -> Reply[LoginAnswer]:
            seen.append(number)
            return answering(answers[number])(request)

        return authenticate

    world = World(plane, authenticator(0), authenticator(1))
    world.tell(opened(1), connect(1))

    assert seen == asked
    assert world.begun() == [1] * begins
    assert len(world.closed()) == 1 - begins


def failing(_request: LoginRequest) -> Reply[LoginAnswer]:
    raise LookupError("hidden")


def failing_later(_request: LoginRequest) -> Reply[LoginAnswer]:
    reply: Reply[LoginAnswer] = Reply()
    reply.set_exception((LookupError, LookupError("hidden"), None))
    return reply


@pytest.mark.parametrize(
    ("authenticate", "problem"),
    [
        (failing, "raised LookupError at "),
        (failing_later, "raised LookupError"),
        (answering(1), "answered with int"),
        (answering("joe"), "answered with str"),
        (lambda _: True, "raised AttributeError at "),
    ],
    ids=["raises", "raises-later", "number", "text", "no-reply"],
)
def test_an_authenticator_that_fails_refuses(plane: Any, authenticate: Any, problem: str) -> None:
    world = World(plane, authenticate, answering(Accepted("joe")))
    world.tell(opened(1), connect(1))
    text, fields = world.log.lines()[0]

    assert world.begun() == []
    assert world.closed() == [(1, ClosedState.AUTHENTICATION_VIOLATION, VIOLATION)]
    assert text == "Authenticator {component} of plugin {plugin} failed"
    assert fields["component"] == "a0"
    assert fields["error"].startswith(problem)
    assert "hidden" not in str(world.log.lines())


def test_an_answer_for_who_has_gone_is_ignored(plane: Any, row: Any) -> None:
    reply: Reply[LoginAnswer] = Reply()
    world = World(plane, lambda _: reply)
    world.tell(opened(1), connect(1))
    world.tell(Closed(1, LinkKind.CLIENT, ClosedState.AUTHENTICATION_TIMEOUT, "", row(1), 9))
    reply.set(Accepted("joe"))
    world.dispatcher.run_ready()

    assert plane.calls == []
    assert world.notices.heard == []


def test_a_client_may_log_in_again_as_somebody_else(plane: Any) -> None:
    def authenticate(request: LoginRequest) -> Reply[LoginAnswer]:
        user = request.connect.user
        return answering(Accepted(user) if user != "eve" else Refused())(request)

    world = World(plane, authenticate)
    world.tell(opened(1), connect(1, user="ann"))
    world.tell(connect(1, user="bob"))

    assert world.begun() == [1, 1]
    assert world.clients.connect_of(1).user == "bob"  # type: ignore[union-attr]
    assert world.notices.heard == [("opened", "ann")]
    world.tell(connect(1, user="eve"))
    assert world.closed() == [(1, ClosedState.AUTHENTICATION_VIOLATION, VIOLATION)]


def test_the_oldest_silent_client_goes_when_too_many_have_not_logged_in(
    plane: Any, row: Any
) -> None:
    world = World(plane, answering(Accepted("joe")), waiting_max=2)
    world.tell(opened(1), opened(2), opened(3), connect(3))
    words = b"-ERR 'Authentication Timeout'\r\n"

    assert world.closed() == [(1, ClosedState.AUTHENTICATION_TIMEOUT, words)]
    assert world.clients.links() == (2, 3)
    assert world.begun() == [3]
    world.tell(Closed(1, LinkKind.CLIENT, ClosedState.AUTHENTICATION_TIMEOUT, "", row(1), 9))
    world.tell(opened(4))
    world.tell(Closed(2, LinkKind.CLIENT, ClosedState.CLIENT_CLOSED, "", row(2), 9), opened(5))
    assert world.clients.links() == (3, 4, 5)
    assert [closed.row.link for closed in world.clients.closed] == [2]


def test_a_newcomer_is_refused_while_everybody_else_is_decided_on(plane: Any) -> None:
    world = World(plane, lambda _: Reply(), waiting_max=2)
    world.tell(opened(1), connect(1), opened(2), connect(2), opened(3))
    words = b"-ERR 'maximum connections exceeded'\r\n"

    assert world.closed() == [(3, ClosedState.MAX_CONNECTIONS_EXCEEDED, words)]
    assert world.clients.links() == (1, 2)
