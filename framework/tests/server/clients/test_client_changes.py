"""What becomes of clients that are in, as their accounts and authenticators change."""

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
    AccountLimits,
    AccountSpec,
    Authenticator,
    Closed,
    ClosedState,
    ConnectionLimits,
    Greeting,
    LinkEvents,
    LinkKind,
    Opened,
    Permissions,
    Refused,
    SubjectRules,
    TlsPeer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.server.clients.client_notices import ClientSeen
    from framework.spec import LinkId, LoginAnswer, LoginRequest

FEW = Permissions(publish=SubjectRules(allow=("a",)))
OTHER = Permissions(publish=SubjectRules(allow=("b",)))
START_S = 1_000.25


class Log(CapturingLogger):
    def bind(self, **_fields: Any) -> Log:
        return self

    def is_enabled_for(self, level: int) -> bool:
        return level > 10

    def lines(self) -> list[str]:
        return [it.args[0].format(**it.kwargs) for it in self.calls]


class Watcher:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str, str]] = []

    def client_connected(self, client: ClientSeen) -> None:
        self.heard.append(("connected", client.identity.account, client.identity.user))

    def client_disconnected(self, client: ClientSeen, closed: Closed) -> None:
        self.heard.append(("disconnected", client.identity.user, closed.reason.text))

    def client_refused(self, client: ClientSeen, closed: Closed) -> None:
        self.heard.append(("refused", client.identity.user, closed.reason.text))


class World:
    """Accounts A and B, and one authenticator that knows each user by its name."""

    def __init__(self, plane: Any, row: Any) -> None:
        self.plane, self.row = plane, row
        self.log, self.watcher = Log(), Watcher()
        self.dispatcher = SimulatedDispatcher()
        self._started_ns = self.dispatcher.now_ns()
        self.remote_counts: dict[str, int] = {}
        self.tls_peers: dict[LinkId, TlsPeer] = {}
        self.accounts = Accounts(plane, log=self.log, changed=self.accounts_changed)  # type: ignore[arg-type]
        self.accounts.put([AccountSpec(name="A"), AccountSpec(name="B")])
        self.users: Mapping[str, Accepted | Refused] = {"joe": Accepted("joe", "A")}
        self.clients = Clients(
            accounts=self.accounts,
            headers=True,
            tls_peers=self.tls_peers,
            remote_count=lambda account: self.remote_counts.get(account, 0),
        )
        commands = ClientCommands(
            plane,
            self.clients,
            accounts=self.accounts,
            headers=True,
            notices=None,
            log=self.log,  # type: ignore[arg-type]
            describe=lambda client: (b"{}", client.account.encode()),
            tls_peers=self.tls_peers,
        )
        commands.watchers.append(self.watcher)
        self.require(Authenticator(name="users", authenticate=self.answer, recheck=self.recheck))
        system = ActorSystem(self.dispatcher, name="test")
        self.listener = system.spawn(
            ClientListener, clients=self.clients, commands=commands, wall_s=self.wall_s
        )
        self.requests: list[LoginRequest] = []

    def wall_s(self) -> float:
        return START_S + (self.dispatcher.now_ns() - self._started_ns) / 1e9

    def accounts_changed(self, names: Sequence[str]) -> None:
        if hasattr(self, "listener"):
            self.listener.tell(ClientListener.AccountsChanged(names))

    def ask(self, message: object) -> Any:
        reply = self.listener.ask(message, block=False)
        self.dispatcher.run_ready()
        return reply.get()

    def require(self, *authenticators: Authenticator) -> None:
        self.clients.set_logins(authenticators, waiting_max=99)

    def answer(self, request: LoginRequest) -> Reply[LoginAnswer]:
        self.requests.append(request)
        reply: Reply[LoginAnswer] = Reply()
        reply.set(self.users.get(request.connect.user))
        return reply

    def recheck(self, request: LoginRequest, accepted: Accepted) -> Accepted | Refused:
        self.requests.append(request)
        return self.users.get(accepted.user) or Refused("not there any more")

    def tell(self, *events: Any) -> None:
        self.listener.tell(LinkEvents(events))
        self.dispatcher.run_ready()

    def log_in(self, link: int, user: str = "joe", nonce: bytes = b"") -> None:
        kind, document = LinkKind.CLIENT, b'{"user":"%b","pass":"p"}' % user.encode()
        self.tell(Opened(link, kind, link, "127.0.0.1", 4_000 + link, 0, 0, nonce))
        self.tell(Greeting(link, kind, "CONNECT", document, parked=True))

    def hang_up(self, link: int, reason: ClosedState = ClosedState.CLIENT_CLOSED) -> None:
        self.tell(Closed(link, LinkKind.CLIENT, reason, "", self.row(link), 9))

    def check_again(self, account: str | None = None) -> None:
        self.listener.tell(ClientListener.Recheck(account))
        self.dispatcher.run_ready()

    def put(self, name: str, **changes: Any) -> None:
        self.accounts.put([AccountSpec(name=name, **changes)])
        self.dispatcher.run_ready()

    def closed(self) -> list[tuple[int, ClosedState, bytes]]:
        return [arguments for arguments, _ in self.plane.named("close")]

    def told(self, command: str) -> list[dict[str, Any]]:
        """Return what the plane was told of rights and limits."""
        names = ("permissions", "max_subscriptions", "max_payload")
        return [
            {name: keywords[name] for name in names if name in keywords}
            for _, keywords in self.plane.named(command)
        ]


@pytest.fixture
def world(plane: Any, row: Any) -> World:
    return World(plane, row)


# -- who comes in ----------------------------------------------------------------------------------


def test_the_nonce_and_the_tls_session_reach_the_authenticator(world: World) -> None:
    peer = TlsPeer(version="1.3", cipher="TLS_AES_128_GCM_SHA256")
    kind = LinkKind.CLIENT
    world.tell(Opened(1, kind, 1, "::1", 5, 0, 0, b"sign this"))
    world.tls_peers[1] = peer
    world.tell(Greeting(1, kind, "CONNECT", b'{"user":"joe"}', parked=True))

    (request,) = world.requests
    assert (request.link, request.nonce, request.tls) == (1, b"sign this", peer)
    identity = world.clients.identity_of(1)
    assert identity
    assert (identity.account, identity.tls) == ("A", peer)
    world.hang_up(1)
    assert not world.tls_peers


def test_who_may_do_everything_costs_the_plane_nothing(world: World) -> None:
    world.log_in(1)

    assert world.told("resume_client") == [{}]
    assert world.plane.named("resume_client")[0][1]["account"] == world.accounts.index("A")
    assert world.plane.named("add_permissions") == []


def test_the_least_of_what_account_and_user_allow_counts(world: World) -> None:
    limits = ConnectionLimits(max_subscriptions=7, max_payload=100)
    world.users = {
        "ann": Accepted("ann", "A", FEW, limits),
        "joe": Accepted("joe", "A"),
    }
    world.put(
        "A",
        limits=AccountLimits(max_subscriptions=5, max_payload=200),
        default_permissions=OTHER,
    )
    world.log_in(1, "ann")
    world.log_in(2, "joe")

    assert [it for it, _ in world.plane.named("add_permissions")] == [(FEW,), (OTHER,)]
    first, second = world.told("resume_client")
    assert (first["max_subscriptions"], first["max_payload"]) == (5, 100)
    assert (second["max_subscriptions"], second["max_payload"]) == (5, 200)
    assert 0 < first["permissions"] != second["permissions"]
    world.hang_up(1)
    assert world.plane.named("drop_permissions") == [((first["permissions"],), {})]


def test_rights_that_cannot_be_followed_allow_nothing(world: World) -> None:
    def add_permissions(permissions: Permissions) -> int:
        world.plane.calls.append(("add_permissions", (permissions,), {}))
        if permissions == FEW:
            raise ValueError("no subject")
        return 7

    world.plane.add_permissions = add_permissions
    world.users = {"joe": Accepted("joe", "A", FEW)}
    world.log_in(1)

    assert world.told("resume_client")[0]["permissions"] == 7
    (nothing,) = world.plane.named("add_permissions")[-1][0]
    assert nothing.publish.deny == nothing.subscribe.deny == (">",)
    assert world.log.lines() == ["Invalid permissions deny everything: no subject"]


def test_an_account_that_is_full_takes_nobody_more(world: World) -> None:
    world.put("A", limits=AccountLimits(max_connections=2))
    for link in (1, 2, 3):
        world.log_in(link)

    words = b"-ERR 'maximum account active connections exceeded'\r\n"
    assert world.closed() == [(3, ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED, words)]
    assert world.clients.count("A") == 2
    world.hang_up(3, ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED)
    assert world.log.lines() == ["maximum account active connections exceeded"]
    world.hang_up(1)
    world.log_in(4)
    assert world.clients.count("A") == 2


def test_clients_on_other_servers_count_too(world: World) -> None:
    world.put("A", limits=AccountLimits(max_connections=2))
    world.remote_counts.update(A=2)
    world.log_in(1)

    assert [reason for _, reason, _ in world.closed()] == [
        ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED
    ]


def test_the_latest_go_when_an_account_has_too_many_together_with_other_servers(
    world: World,
) -> None:
    world.put("A", limits=AccountLimits(max_connections=3))
    for link in (1, 2, 3):
        world.log_in(link)
    world.remote_counts.update(A=2, B=9)
    for account in ("B", "A", "unknown"):
        world.ask(ClientListener.Rebalance(account))

    assert [link for link, _, _ in world.closed()] == [3, 2]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Accepted("joe", "C"), "its account is unknown"),
        (Accepted("joe", "A", expires_s=1_000.0), "its login has expired"),
    ],
)
def test_who_was_accepted_may_still_not_come_in(
    world: World, answer: Accepted, problem: str
) -> None:
    world.users = {"joe": answer}
    world.log_in(1)

    assert [reason for _, reason, _ in world.closed()] == [ClosedState.AUTHENTICATION_VIOLATION]
    assert world.log.calls[0].kwargs["detail"] == problem


def test_a_second_login_does_not_lead_into_another_account(world: World) -> None:
    world.log_in(1)
    world.users = {"joe": Accepted("joe", "B")}
    world.tell(Greeting(1, LinkKind.CLIENT, "CONNECT", b'{"user":"joe"}', parked=True))

    assert world.closed()[0][1] is ClosedState.AUTHENTICATION_VIOLATION
    assert len(world.plane.named("resume_client")) == 1


def test_a_second_login_gives_back_the_rights_of_the_first(world: World) -> None:
    world.users = {"joe": Accepted("joe", "A", FEW), "ann": Accepted("ann", "A", OTHER)}
    world.log_in(1)
    world.tell(Greeting(1, LinkKind.CLIENT, "CONNECT", b'{"user":"ann"}', parked=True))
    first, second = (told["permissions"] for told in world.told("resume_client"))

    assert first != second
    assert world.plane.named("drop_permissions") == [((first,), {})]


def test_watchers_hear_who_comes_goes_and_is_refused(world: World) -> None:
    world.log_in(1)
    world.hang_up(1)
    world.log_in(2, "eve")
    world.hang_up(2, ClosedState.AUTHENTICATION_VIOLATION)

    assert world.watcher.heard == [
        ("connected", "A", "joe"),
        ("disconnected", "joe", "Client Closed"),
        ("refused", "eve", "Authentication Failure"),
    ]


# -- whose time is over ----------------------------------------------------------------------------


def test_a_login_ends_at_its_time(world: World) -> None:
    world.users = {"joe": Accepted("joe", "A", expires_s=1_003.0)}
    world.log_in(1)
    world.dispatcher.run_for(2.7)
    assert world.closed() == []

    world.dispatcher.run_for(0.1)
    words = b"-ERR 'User Authentication Expired'\r\n"
    assert world.closed() == [(1, ClosedState.AUTHENTICATION_EXPIRED, words)]


def test_an_account_ends_for_all_who_are_in_it(world: World) -> None:
    world.log_in(1)
    world.put("A", expires_s=1_002.0)
    world.dispatcher.run_for(2.0)

    words = b"-ERR 'Account Authentication Expired'\r\n"
    assert world.closed() == [(1, ClosedState.AUTHENTICATION_EXPIRED, words)]


def test_a_time_that_is_prolonged_does_not_end_early(world: World) -> None:
    world.users = {"joe": Accepted("joe", "A", expires_s=1_002.0)}
    world.log_in(1)
    world.users = {"joe": Accepted("joe", "A")}
    world.check_again()
    world.dispatcher.run_for(9.0)

    assert world.closed() == []


def test_who_has_gone_does_not_expire(world: World) -> None:
    world.users = {"joe": Accepted("joe", "A", expires_s=1_002.0)}
    world.log_in(1)
    world.hang_up(1)
    world.dispatcher.run_for(9.0)

    assert world.closed() == []


# -- accounts that change --------------------------------------------------------------------------


def test_a_new_limit_of_an_account_lets_those_stay_who_came_first(world: World) -> None:
    for link in (1, 2, 3):
        world.log_in(link)
    world.put("A", limits=AccountLimits(max_connections=1))

    assert [(link, reason) for link, reason, _ in world.closed()] == [
        (2, ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED),
        (3, ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED),
    ]


def test_new_limits_and_rights_of_an_account_are_in_force_at_once(world: World) -> None:
    world.log_in(1)
    world.put("A", limits=AccountLimits(max_payload=9), default_permissions=FEW)
    (first,) = world.told("set_client")
    world.put("A", limits=AccountLimits(max_payload=9), default_permissions=OTHER)
    world.put("A")

    _, second, third = world.told("set_client")
    assert first["max_payload"] == 9
    assert second["permissions"] not in {0, first["permissions"]}
    assert third == {"permissions": 0, "max_subscriptions": -1, "max_payload": -1}
    dropped = [number for (number,), _ in world.plane.named("drop_permissions")]
    assert dropped == [first["permissions"], second["permissions"]]


def test_what_concerns_no_client_is_not_told_to_the_plane(world: World) -> None:
    world.log_in(1)
    world.put("A", tags=("new",))

    assert world.told("set_client") == []


def test_clients_go_with_their_account(world: World) -> None:
    world.log_in(1)
    world.accounts.remove(["A"])
    world.dispatcher.run_ready()

    assert world.closed() == [(1, ClosedState.CLIENT_CLOSED, b"")]


# -- authenticators are asked again ----------------------------------------------------------------


def test_who_may_stay_stays_with_new_rights(world: World) -> None:
    world.log_in(1)
    world.users = {"joe": Accepted("joe", "A", FEW, tags=("new",))}
    world.check_again()

    assert world.closed() == []
    (told,) = world.told("set_client")
    assert told["permissions"] > 0
    identity = world.clients.identity_of(1)
    assert identity
    assert (identity.permissions, identity.tags) == (FEW, ("new",))
    assert world.requests[-1].connect.password == ""


def test_who_is_refused_now_has_to_go(world: World) -> None:
    world.log_in(1)
    world.users = {}
    world.check_again()

    words = b"-ERR 'Authorization Violation'\r\n"
    assert world.closed() == [(1, ClosedState.AUTHENTICATION_VIOLATION, words)]
    assert world.log.lines() == ['authentication error - User "joe"']


def test_who_is_revoked_is_told_so(world: World) -> None:
    world.log_in(1)
    world.users = {"joe": Refused(reason=ClosedState.REVOCATION)}
    world.check_again("A")

    words = b"-ERR 'User Authentication Revoked'\r\n"
    assert world.closed() == [(1, ClosedState.REVOCATION, words)]
    assert world.log.lines() == []


def test_who_belongs_into_another_account_comes_again_by_itself(world: World) -> None:
    world.log_in(1)
    world.users = {"joe": Accepted("joe", "B")}
    world.check_again()

    assert world.closed() == [(1, ClosedState.CLIENT_CLOSED, b"")]


def test_only_those_in_the_account_are_asked_about(world: World) -> None:
    world.users = {"joe": Accepted("joe", "A"), "ann": Accepted("ann", "B")}
    world.log_in(1)
    world.log_in(2, "ann")
    world.users = {}
    world.check_again("B")

    assert [link for link, _, _ in world.closed()] == [2]


def test_nobody_is_closed_twice(world: World) -> None:
    world.log_in(1)
    world.users = {}
    world.check_again()
    world.check_again()
    assert world.ask(ClientListener.Kick(1)) is True

    assert len(world.closed()) == 1


def test_an_authenticator_without_a_recheck_stands_by_its_answer(world: World) -> None:
    world.require(Authenticator(name="users", authenticate=world.answer))
    world.log_in(1)
    world.users = {}
    world.check_again()

    assert world.closed() == []


def test_an_authenticator_that_fails_in_a_recheck_refuses(world: World) -> None:
    def fail(_request: LoginRequest, _accepted: Accepted) -> Accepted:
        raise LookupError("hidden")

    world.log_in(1)
    world.require(Authenticator(name="users", authenticate=world.answer, recheck=fail))
    world.check_again()

    assert world.closed()[0][1] is ClosedState.AUTHENTICATION_VIOLATION
    assert "hidden" not in str(world.log.calls)


def test_who_came_while_nobody_was_asked_has_to_log_in(world: World) -> None:
    world.require()
    world.log_in(1)
    world.check_again()
    assert world.closed() == []
    assert world.clients.count("$G") == 1

    world.require(Authenticator(name="users", authenticate=world.answer))
    world.check_again()
    assert world.closed()[0][1] is ClosedState.AUTHENTICATION_VIOLATION


def test_who_came_while_nobody_was_asked_may_stay_where_anybody_may(world: World) -> None:
    world.require()
    world.log_in(1)
    world.require(
        Authenticator(
            name="users",
            authenticate=world.answer,
            recheck=lambda _, accepted: accepted,
            lets_anybody_in=True,
        )
    )
    world.check_again()

    assert world.closed() == []


def test_what_somebody_once_said_is_forgotten_when_nobody_is_asked(world: World) -> None:
    rechecked: list[Accepted] = []

    def recheck(_: LoginRequest, accepted: Accepted) -> Accepted:
        rechecked.append(accepted)
        return accepted

    world.users = {"joe": Accepted("joe", proof="of then")}
    world.log_in(1)
    world.require()
    world.check_again()
    world.require(Authenticator(name="users", authenticate=world.answer, recheck=recheck))
    world.check_again()

    assert rechecked == []
    assert world.closed()[0][1] is ClosedState.AUTHENTICATION_VIOLATION


def test_an_authenticator_that_is_gone_vouches_for_nobody(world: World) -> None:
    world.log_in(1)
    world.require(Authenticator(name="other", authenticate=world.answer))
    world.check_again()

    assert world.closed()[0][1] is ClosedState.AUTHENTICATION_VIOLATION


def test_a_login_that_was_under_way_during_a_reload_is_checked_by_the_new_rules(
    world: World,
) -> None:
    late: Reply[LoginAnswer] = Reply()
    world.require(Authenticator(name="users", authenticate=lambda _: late))
    world.log_in(1)
    world.users = {}
    world.require(Authenticator(name="users", authenticate=world.answer, recheck=world.recheck))
    late.set(Accepted("joe", "A"))
    world.dispatcher.run_ready()

    assert world.closed()[0][1] is ClosedState.AUTHENTICATION_VIOLATION


def test_a_recheck_of_many_lets_others_have_their_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framework.server.clients.client_listener.RECHECKS_PER_TURN", 2)
    for link in range(1, 6):
        world.log_in(link)
    world.users = {}
    done: Reply[None] = Reply()
    world.listener.tell(ClientListener.Recheck(None, done))
    world.dispatcher.run_ready()

    assert done.is_done
    assert len(world.closed()) == 5


# -- orders ----------------------------------------------------------------------------------------


def test_a_client_can_be_kicked(world: World) -> None:
    world.log_in(1)

    assert world.ask(ClientListener.Kick(1)) is True
    assert world.ask(ClientListener.Kick(2)) is False
    assert world.closed() == [(1, ClosedState.KICKED, b"")]


def test_the_latest_go_when_the_server_takes_fewer(world: World) -> None:
    for link in (1, 2, 3):
        world.log_in(link)

    world.ask(ClientListener.KeepWithin(1))

    assert [link for link, _, _ in world.closed()] == [2, 3]
