"""Reassign clients after a reload or a change of their account: permissions, limits, closing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.server.clients.admission import admission_of, identity_of
from framework.server.clients.client_effects import (
    SAME_OF_ALL,
    Close,
    Identify,
    Noted,
    Recheck,
    RefusalNoted,
    Rights,
    Update,
    take,
)
from framework.spec import GLOBAL_ACCOUNT, Accepted, ClosedState, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from framework.server.clients.admission import Admission
    from framework.server.clients.client_effects import ClientEffect
    from framework.server.clients.client_row import Client
    from framework.server.clients.client_table import ClientTable
    from framework.server.clients.logins import Logins
    from framework.spec import AccountBook, AccountSpec, Quota
    from framework.wire.info import ClientConnect

_WORDS: Final = {
    ClosedState.AUTHENTICATION_EXPIRED: "User Authentication Expired",
    ClosedState.AUTHENTICATION_VIOLATION: "Authorization Violation",
    ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED: "maximum account active connections exceeded",
    ClosedState.MAX_CONNECTIONS_EXCEEDED: "maximum connections exceeded",
    ClosedState.REVOCATION: "User Authentication Revoked",
}
"""What a client is told of its end. Source: nats-server `client.go`, `accounts.go`."""


class ClientChanges:
    """Hold logged-in clients to the current limits and permissions of server, account and user.

    Args:
        table: All clients.
        logins: Who decides.
        effects: Gets what is to be done.
        accounts: What accounts allow.
        remote_count: Returns the clients of an account on other servers, which count against its
            limit as well.
    """

    def __init__(
        self,
        table: ClientTable,
        logins: Logins,
        effects: list[ClientEffect],
        *,
        accounts: AccountBook,
        remote_count: Callable[[str], int],
    ) -> None:
        self._remote_count = remote_count
        self._table = table
        self._logins = logins
        self._effects = effects
        self._accounts = accounts

    # -- who comes in ------------------------------------------------------------------------------

    def enter(
        self, client: Client, connect: ClientConnect, accepted: Accepted | None, now_s: float
    ) -> Rights | Refused:
        """Add a client to its account.

        Args:
            client: Who has sent CONNECT.
            connect: That, without secrets.
            accepted: What its authenticator said; None: nobody had to be asked.
            now_s: The Unix time.

        Returns:
            What it may do there; or why it can't come in although it was accepted.
        """
        account = accepted.account if accepted else GLOBAL_ACCOUNT
        spec = self._accounts.get(account)
        if spec is None:
            return Refused("its account is unknown")
        admission = admission_of(accepted, spec)
        if admission.expires_s and admission.expires_s <= now_s:
            return Refused("its login has expired")
        if client.has_begun and client.account != account:
            return Refused("it can't move to another account")
        if not client.has_begun and not self._has_room(spec):
            return Refused(reason=ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED)
        rights = _adopt(client, admission)
        client.connect = connect
        self._identify(client, accepted, account, admission)
        self._table.enter(client)
        self._table.expirations.set(client.link, admission.expires_s)
        return rights

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
        self._effects.append(Close(client.link, reason, last_words))

    def kick(self, cid: int) -> Sequence[ClientEffect] | None:
        """Close the client with a connection ID; return None when there is none."""
        client = self._table.find(cid)
        if client is None:
            return None
        self.close(client, ClosedState.KICKED)
        return take(self._effects)

    @property
    def waits_for_expirations(self) -> bool:
        """Whether any login expires."""
        return len(self._table.expirations) > 0

    def expire(self, now_s: float) -> Sequence[ClientEffect]:
        """Close clients whose login has expired at a Unix time."""
        for link in self._table.expirations.turn(now_s):
            client = self._table.get(link)
            assert client
            spec = self._accounts.get(client.account)
            account_s = spec.expires_s if spec else 0.0
            whose = "Account" if account_s and account_s <= now_s else "User"
            words = f"{whose} Authentication Expired"
            self.close(client, ClosedState.AUTHENTICATION_EXPIRED, words)
        return take(self._effects)

    def accounts_changed(self, names: Iterable[str]) -> Sequence[ClientEffect]:
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
        return take(self._effects)

    def rebalance(self, account: str) -> Sequence[ClientEffect]:
        """Close the latest clients of an account that has too many with those on other servers.

        They do the same, so that more may go than need to; clients come again.

        Source: nats-server `accounts.go`, `updateRemoteServer`.
        """
        spec = self._accounts.get(account)
        room = self._room(spec) if spec else None
        if room is None:
            return ()
        inside = [it for it in self._table.inside(account) if not it.is_closing]
        surplus = len(inside) + self._remote_count(account) - room
        for client in inside[::-1][: max(surplus, 0)]:
            self.close(client, ClosedState.MAX_ACCOUNT_CONNECTIONS_EXCEEDED)
        return take(self._effects)

    def recheck(self, clients: Sequence[Client]) -> Sequence[ClientEffect]:
        """Authenticate logged-in clients again; `receive_rechecked` applies the answers.

        Source: nats-server `reload.go`, `reloadAuthorization`.
        """
        for client in clients:
            self.check_again(client)
        return take(self._effects)

    def check_again(self, client: Client) -> None:
        """Ask the authenticator of a client about it, if it is logged in."""
        if client.is_closing or not client.has_begun:
            return
        chain = self._logins.by_name(client.transport)
        assert client.connect
        if not chain:
            client.authenticator = ""
            self._apply(client, Accepted(client.connect.user) if client.accepted else None)
            return
        if not client.authenticator:
            # It came while nobody was asked, and what it gave then was not kept.
            accepted: Accepted | None = Accepted(client.connect.user)
            hosts = (it for it in chain.values() if it.lets_anybody_in)
            asked = next(hosts, None)
        else:
            accepted, asked = client.accepted, chain.get(client.authenticator)
        if asked is None or accepted is None:
            self._apply(client, Refused())
            return
        client.authenticator = asked.name
        if asked.recheck is None:
            self._apply(client, accepted)
        else:
            request = client.request(client.connect)
            self._effects.append(Recheck(client, asked, request, accepted))

    def receive_rechecked(
        self, client: Client, answer: Accepted | Refused
    ) -> Sequence[ClientEffect]:
        """Receive what an authenticator would answer today."""
        self._apply(client, answer)
        return take(self._effects)

    def keep_within(self, count: int) -> Sequence[ClientEffect]:
        """Close the latest clients of the server beyond a count.

        Args:
            count: Clients that may stay; at least 0.
        """
        surplus = list(self._table)[count:]
        for client in surplus:
            self.close(client, ClosedState.MAX_CONNECTIONS_EXCEEDED)
        if surplus:
            what = "Closed {count} connections to fall within max_connections"
            self._effects.append(Noted("info", what, {"count": len(surplus)}))
        return take(self._effects)

    def inside(self, account: str | None) -> Sequence[Client]:
        """Return the clients of an account; None: of all accounts."""
        return self._table.inside(account)

    def _apply(self, client: Client, answer: Accepted | Refused | None) -> None:
        """Put in force what would be answered today; None: nobody has to be asked."""
        if isinstance(answer, Refused):
            if answer.reason is ClosedState.AUTHENTICATION_VIOLATION:
                assert client.connect
                self._effects.append(RefusalNoted(client, client.connect, answer))
            self.close(client, answer.reason)
            return
        spec = self._accounts.get(client.account)
        has_moved = answer is not None and answer.account != client.account
        if has_moved or spec is None:
            self.close(client, ClosedState.CLIENT_CLOSED)
        else:
            self._update(client, answer, spec)

    def _update(self, client: Client, accepted: Accepted | None, spec: AccountSpec) -> None:
        """Put in force what a client may do now; nothing is said when that is as it was."""
        limits = client.limits
        admission = admission_of(accepted, spec)
        rights = _adopt(client, admission)
        self._identify(client, accepted, spec.name, admission)
        self._table.expirations.set(client.link, admission.expires_s)
        has_new_limits = client.limits != limits
        if has_new_limits or rights.are_new:
            self._effects.append(Update(client, rights, has_new_limits))

    def _identify(
        self, client: Client, accepted: Accepted | None, account: str, admission: Admission
    ) -> None:
        """Take note of who a client is, and let the plane know it."""
        before = client.identity, _quotas_of(client.accepted)
        client.accepted = accepted
        client.identity = identity_of(client, accepted, account, admission)
        if (client.identity, _quotas_of(accepted)) != before:
            self._effects.append(Identify(client))

    def _has_room(self, spec: AccountSpec) -> bool:
        room = self._room(spec)
        return room is None or self._table.count(spec.name) + self._remote_count(spec.name) < room

    def _room(self, spec: AccountSpec) -> int | None:
        """Return how many clients an account may have; None: any number."""
        return spec.limits.max_connections if spec.limits.max_connections >= 0 else None


def _quotas_of(accepted: Accepted | None) -> tuple[Quota, ...]:
    return accepted.quotas if accepted else ()


def _adopt(client: Client, admission: Admission) -> Rights:
    """Note the limits of a client, and return its rights; before its new identity is noted."""
    client.limits = (admission.max_subscriptions, admission.max_payload)
    before = client.identity.permissions if client.identity else None
    if before is admission.permissions is None:
        return SAME_OF_ALL
    return Rights(admission.permissions, admission.permissions != before)
