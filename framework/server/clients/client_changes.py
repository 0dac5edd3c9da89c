"""Reassign clients after a reload or a change of their account: permissions, limits, closing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.errors import PluginError
from framework.server.clients.admission import admission_of, identity_of
from framework.server.clients.refusals import FAILED, log_refusal, problem_of
from framework.spec import (
    UNLIMITED,
    Accepted,
    ClosedState,
    Permissions,
    Refused,
    SubjectRules,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.server.clients.admission import Admission
    from framework.server.clients.client_row import Client
    from framework.server.clients.client_table import ClientTable
    from framework.server.clients.logins import Logins
    from framework.server.plane_port import ServerPlane
    from framework.spec import AccountBook, AccountSpec, Authenticator
    from framework.wire.info import ClientConnect

_WORDS: Final = {
    ClosedState.AUTHENTICATION_EXPIRED: "User Authentication Expired",
    ClosedState.AUTHENTICATION_VIOLATION: "Authorization Violation",
    ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED: "maximum account active connections exceeded",
    ClosedState.MAX_CONNECTIONS_EXCEEDED: "maximum connections exceeded",
    ClosedState.REVOCATION: "User Authentication Revoked",
}
"""What a client is told of its end. Source: nats-server `client.go`, `accounts.go`."""


_NONE: Final = SubjectRules(deny=(">",))
_NOTHING: Final = Permissions(publish=_NONE, subscribe=_NONE)


class ClientChanges:
    """Hold logged-in clients to the current limits and permissions of server, account and user.

    Args:
        plane: Takes the commands.
        table: All clients.
        logins: Who decides.
        accounts: What accounts allow.
        log: The server's logger.
        wall_s: The Unix time.
        describe: What services of other accounts are told of a client.
        remote_count: Returns the clients of an account on other servers, which count against its
            limit as well.
    """

    def __init__(
        self,
        plane: ServerPlane,
        table: ClientTable,
        logins: Logins,
        *,
        accounts: AccountBook,
        log: FilteringBoundLogger,
        wall_s: Callable[[], float],
        describe: Callable[[Client], tuple[bytes, bytes]],
        remote_count: Callable[[str], int],
    ) -> None:
        self._remote_count = remote_count
        self._plane = plane
        self._table = table
        self._logins = logins
        self._accounts = accounts
        self._log = log
        self._wall_s = wall_s
        self._describe = describe

    # -- who comes in ------------------------------------------------------------------------------

    def enter(
        self, client: Client, connect: ClientConnect, accepted: Accepted | None, account: str
    ) -> Refused | None:
        """Add a client to an account.

        Args:
            client: Who has sent CONNECT.
            connect: That, without secrets.
            accepted: What its authenticator said; None: nobody had to be asked.
            account: Name.

        Returns:
            Why it can't come in although it was accepted; None: it is in.
        """
        spec = self._accounts.get(account)
        if spec is None:
            return Refused("its account is unknown")
        admission = admission_of(accepted, spec)
        if admission.expires_s and admission.expires_s <= self._wall_s():
            return Refused("its login has expired")
        if client.has_begun and client.account != account:
            return Refused("it can't move to another account")
        if not client.has_begun and not self._has_room(spec):
            return Refused(reason=ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED)
        retired = self._adopt(client, admission)
        if retired:
            self._plane.drop_permissions(retired)
        client.connect = connect
        self._identify(client, accepted, account, admission)
        self._table.enter(client)
        self._table.expirations.set(client.link, admission.expires_s)
        return None

    def index_of(self, client: Client) -> int:
        """Return the number of a client's account in the data plane."""
        return self._accounts.index(client.account)

    def powers_of(self, client: Client) -> Mapping[str, int]:
        """Return a client's own permissions and limits as arguments of the data plane."""
        if not client.permissions and client.limits == (UNLIMITED, UNLIMITED):
            return {}
        subscriptions, payload = client.limits
        return {
            "permissions": client.permissions,
            "max_subscriptions": subscriptions,
            "max_payload": payload,
        }

    def forget(self, client: Client) -> None:
        """Release the permissions of a client that has gone."""
        if client.permissions:
            self._plane.drop_permissions(client.permissions)
            client.permissions = 0

    # -- who has to go -----------------------------------------------------------------------------

    def close(self, client: Client, reason: ClosedState, words: str | None = None) -> None:
        """Close a client, once.

        Args:
            client: Any.
            reason: Shown by monitoring.
            words: Of `-ERR`; None: those that go with the reason.
        """
        if client.is_closing:
            return
        client.is_closing = True
        text = _WORDS.get(reason, "") if words is None else words
        last_words = f"-ERR '{text}'\r\n".encode() if text else b""
        self._plane.close(client.link, reason, last_words)

    def kick(self, cid: int) -> bool:
        """Close the client with a connection ID; return False when there is none."""
        client = self._table.find(cid)
        if client is None:
            return False
        self.close(client, ClosedState.KICKED)
        return True

    @property
    def waits_for_expirations(self) -> bool:
        """Whether any login expires."""
        return len(self._table.expirations) > 0

    def expire(self) -> None:
        """Close clients whose login has expired."""
        now_s = self._wall_s()
        for link in self._table.expirations.turn(now_s):
            client = self._table.get(link)
            assert client
            spec = self._accounts.get(client.account)
            account_s = spec.expires_s if spec else 0.0
            whose = "Account" if account_s and account_s <= now_s else "User"
            words = f"{whose} Authentication Expired"
            self.close(client, ClosedState.AUTHENTICATION_EXPIRED, words)

    def accounts_changed(self, names: Iterable[str]) -> None:
        """Reassign clients whose accounts have changed.

        Source: nats-server `accounts.go`, `updateAccountClaims`; `reload.go`,
        `reloadAuthorization`.
        """
        for name in names:
            spec = self._accounts.get(name)
            inside = [it for it in self._table.inside(name) if not it.is_closing]
            if spec is None:
                for client in inside:
                    self.close(client, ClosedState.CLIENT_CLOSED)
                continue
            room = self._room(spec)
            for place, client in enumerate(inside):
                if room is not None and place >= room:
                    self.close(client, ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED)
                else:
                    self._update(client, client.accepted, spec)

    def rebalance(self, account: str) -> None:
        """Close the latest clients of an account that has too many with those on other servers.

        They do the same, so that more may go than need to; clients come again.

        Source: nats-server `accounts.go`, `updateRemoteServer`.
        """
        spec = self._accounts.get(account)
        room = self._room(spec) if spec else None
        if room is None:
            return
        inside = [it for it in self._table.inside(account) if not it.is_closing]
        surplus = len(inside) + self._remote_count(account) - room
        for client in inside[::-1][: max(surplus, 0)]:
            self.close(client, ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED)

    def recheck(self, clients: Sequence[Client]) -> None:
        """Authenticate logged-in clients again, and apply the answers.

        Source: nats-server `reload.go`, `reloadAuthorization`.
        """
        chain = {it.name: it for it in self._logins.authenticators}
        for client in clients:
            if client.is_closing or not client.has_begun:
                continue
            answer = self._recheck(client, chain)
            if isinstance(answer, Refused):
                self._evict(client, answer)
            elif answer is not None and answer.account != client.account:
                self.close(client, ClosedState.CLIENT_CLOSED)
            else:
                spec = self._accounts.get(client.account)
                if spec is None:
                    self.close(client, ClosedState.CLIENT_CLOSED)
                else:
                    self._update(client, answer, spec)

    def keep_within(self, count: int) -> None:
        """Close the latest clients of the server beyond a count.

        Args:
            count: Clients that may stay; at least 0.
        """
        surplus = list(self._table)[count:]
        for client in surplus:
            self.close(client, ClosedState.MAX_CONNECTIONS_EXCEEDED)
        if surplus:
            what = "Closed {count} connections to fall within max_connections"
            self._log.info(what, count=len(surplus))

    def inside(self, account: str | None) -> Sequence[Client]:
        """Return the clients of an account; None: of all accounts."""
        return self._table.inside(account)

    def _recheck(
        self, client: Client, chain: Mapping[str, Authenticator]
    ) -> Accepted | Refused | None:
        """Return what would be answered today; None: nobody has to be asked."""
        assert client.connect
        if not chain:
            client.authenticator = ""
            return Accepted(client.connect.user) if client.accepted else None
        if not client.authenticator:
            # It came while nobody was asked, and what it gave then was not kept.
            accepted: Accepted | None = Accepted(client.connect.user)
            hosts = (it for it in chain.values() if it.lets_anybody_in)
            asked = next(hosts, None)
        else:
            accepted, asked = client.accepted, chain.get(client.authenticator)
        if asked is None or accepted is None:
            return Refused()
        client.authenticator = asked.name
        if asked.recheck is None:
            return accepted
        try:
            return asked.recheck(client.request(client.connect), accepted)
        except PluginError:  # logged already
            return Refused()
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody says that it may stay
            problem = problem_of(error)
            self._log.error(FAILED, component=asked.name, plugin=asked.plugin, error=problem)
            return Refused()

    def _evict(self, client: Client, refused: Refused) -> None:
        if refused.reason is ClosedState.AUTHENTICATION_VIOLATION:
            assert client.connect
            log_refusal(self._log, client, client.connect, refused)
        self.close(client, refused.reason)

    def _update(self, client: Client, accepted: Accepted | None, spec: AccountSpec) -> None:
        """Put in force what a client may do now; nothing is said when that is as it was."""
        before = (client.permissions, client.limits)
        admission = admission_of(accepted, spec)
        retired = self._adopt(client, admission)
        self._identify(client, accepted, spec.name, admission)
        self._table.expirations.set(client.link, admission.expires_s)
        if (client.permissions, client.limits) != before:
            subscriptions, payload = client.limits
            self._plane.set_client(
                client.link,
                permissions=client.permissions,
                max_subscriptions=subscriptions,
                max_payload=payload,
            )
        if retired:
            self._plane.drop_permissions(retired)

    def _identify(
        self, client: Client, accepted: Accepted | None, account: str, admission: Admission
    ) -> None:
        """Take note of who a client is, and let the plane know it."""
        before = client.identity
        client.accepted = accepted
        client.identity = identity_of(client, accepted, account, admission)
        if client.identity != before:
            self._plane.set_client_info(client.link, *self._describe(client))

    def _adopt(self, client: Client, admission: Admission) -> int:
        """Number the rights of a client; return the number that has served its time, or 0."""
        client.limits = (admission.max_subscriptions, admission.max_payload)
        before = client.identity.permissions if client.identity else None
        if client.permissions and admission.permissions == before:
            return 0
        retired, client.permissions = client.permissions, 0
        if admission.permissions is not None:
            client.permissions = self._number(admission.permissions)
        return retired

    def _number(self, permissions: Permissions) -> int:
        """Return the number of permissions; those with a bad rule allow nothing at all."""
        try:
            return self._plane.add_permissions(permissions)
        except ValueError as error:
            self._log.error("Invalid permissions deny everything: {detail}", detail=str(error))
            return self._plane.add_permissions(_NOTHING)

    def _has_room(self, spec: AccountSpec) -> bool:
        room = self._room(spec)
        return room is None or self._table.count(spec.name) + self._remote_count(spec.name) < room

    def _room(self, spec: AccountSpec) -> int | None:
        """Return how many clients an account may have; None: any number."""
        return spec.limits.max_connections if spec.limits.max_connections >= 0 else None
