"""The actor of one leaf node connection."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from framework.peering import CheckPassword, Close, PeerLink, matches
from framework.spec import Accepted, ClosedState, TlsSettings, Violated
from framework_leafnode.credentials import CredentialsError, signed_in
from framework_leafnode.effect import Authenticate, Greet, Register, Secure
from framework_leafnode.info import LeafConnect, connect_text
from framework_leafnode.logins import has_signed, login_request, rights_of
from framework_leafnode.peer import Rights
from framework_leafnode.terms import (
    Domains,
    is_strict_with,
    peer_terms,
    permissions_of,
    request_info,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import Event, LinkId, ServerContext
    from framework.spec.logger import FilteringBoundLogger
    from framework_leafnode.effect import Report
    from framework_leafnode.info import LeafInfo
    from framework_leafnode.logins import LeafLogins, LeafUser
    from framework_leafnode.machine import LeafHandshake
    from framework_leafnode.peer import Connection


class LeafLink(PeerLink):
    """Lead one leaf node connection through its handshake, and own its link.

    Args:
        server: Whose plane holds the link.
        link: The connection.
        local: Names this server and its cluster.
        logins: Of leaf nodes that connect to this server.
        connection: What is known of it.
        nonce: What the peer was asked to sign.
        machine: Decides; new.
        report: Takes what must be decided or known of all leaf nodes.
        log: Names the connection in each line.
    """

    class Admitted(Struct, frozen=True):
        """The connection is registered from now on."""

        is_isolated: bool
        loop_subject: str
        addresses: tuple[str, ...]
        """Of answers that this server leads on, whoever is interested."""

    class Recheck(Struct, frozen=True):
        """Other logins are in force: a leaf node that would be somebody else, or nobody, ends."""

        logins: LeafLogins

    class _Authenticated(Struct, frozen=True):
        """An authenticator's answer, or what it has raised."""

        outcome: object

    class _Secured(Struct, frozen=True):
        """The other end of TLS, or why there is none."""

        outcome: object

    class _PasswordMatched(Struct, frozen=True):
        """Whether a password was the one of a hash."""

        user: LeafUser
        outcome: object

    def __init__(
        self,
        *,
        server: ServerContext,
        link: LinkId,
        local: LeafInfo,
        logins: LeafLogins,
        connection: Connection,
        nonce: bytes,
        machine: LeafHandshake,
        report: Callable[[Report], None],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__(server=server, link=link, machine=machine, report=report, log=log)
        self._local = local
        self._logins = logins
        self._connection = connection
        self._nonce = nonce
        self._machine = machine
        self._permissions = 0
        """Number in the plane."""
        self._said: LeafConnect | None = None
        """By a leaf node: what it is asked for again."""
        self._rights: Rights | None = None
        """That it has got by it."""

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case LeafLink.Admitted(is_isolated, loop_subject, addresses):
                admitted = self._machine.receive_admitted(
                    is_isolated=is_isolated, loop_subject=loop_subject, addresses=addresses
                )
                self._perform(admitted)
            case LeafLink.Recheck(logins):
                self._recheck(logins)
            case LeafLink._Authenticated(outcome):
                self._take_answer(outcome)
            case LeafLink._Secured(outcome):
                self._take_secured(outcome)
            case LeafLink._PasswordMatched(user, outcome):
                self._take_user(user if outcome is True else None)
            case _:
                super().on_receive(message)

    @override
    def on_stop(self) -> None:
        super().on_stop()
        self._server.withdraw_login(self._link)
        if self._permissions:
            self._plane.drop_permissions(self._permissions)

    @override
    def _receive_event(self, event: Event) -> None:
        if isinstance(event, Violated):
            subject = event.subject.decode("utf-8", "backslashreplace")
            words = '{what} Violation on "{subject}" - Check other side configuration'
            what = event.violation.name.partition("_")[0].title()
            self._log.error(words, what=what, subject=subject)
        else:
            super()._receive_event(event)

    @override
    def _perform_own(self, effect: object) -> bool:
        match effect:
            case Authenticate(connect):
                self._authenticate(connect)
            case Secure():
                self._secure()
            case Greet(info, compression):
                self._greet(info, compression)
            case Register():
                self._register(effect)
            case _:
                return False
        return True

    # -- as a hub ---------------------------------------------------------------------------------

    def _authenticate(self, connect: LeafConnect) -> None:
        """Find out who a leaf node is: a user of leaf nodes, or of clients."""
        self._said = connect
        if not self._logins.users:
            tls = self._server.tls_peer(self._link)
            request = login_request(self._link, self._connection, connect, self._nonce, tls)
            reply = self._server.authenticate(request)
            self.await_reply(reply, answer=LeafLink._Authenticated)
            return
        user = self._logins.find(connect, self._certificate())
        if user is None or (user.nkey and not has_signed(user, connect, self._nonce)):
            self._take_user(None)
        elif user.nkey or self._logins.maps_certificates:
            self._take_user(user)
        elif user.login.is_hashed:
            check = CheckPassword(user.password, connect.password)
            matched = partial(LeafLink._PasswordMatched, user)
            self.run_blocking(matches, check.hashed, check.password, answer=matched)
        else:
            is_right = user.login.admits(connect.user, connect.password)
            self._take_user(user if is_right else None)

    def _take_user(self, user: LeafUser | None) -> None:
        rights = None
        if user is not None and self._server.accounts.get(user.account) is not None:
            is_system = user.account == self._server.accounts.system_account
            rights = Rights(account=user.account, is_system=is_system, user=user.name)
        self._take_rights(rights)

    def _take_answer(self, outcome: object) -> None:
        rights = None
        if isinstance(outcome, Accepted):
            is_system = outcome.account == self._server.accounts.system_account
            rights = rights_of(outcome, is_system=is_system)
        self._take_rights(rights)

    def _take_rights(self, rights: Rights | None) -> None:
        if self._rights is None:
            self._rights = rights
            self._perform(self._machine.receive_authenticated(rights))
        elif rights is None:
            words = "Authorization Violation"
            self._perform([Close(ClosedState.AUTHENTICATION_VIOLATION, words)])
        elif rights != self._rights:
            # It comes back as who it is now.
            self._perform([Close(ClosedState.CLIENT_CLOSED)])

    def _recheck(self, logins: LeafLogins) -> None:
        """Ask again who a leaf node is. Source: nats-server `reload.go`, `reloadAuthorization`."""
        self._logins = logins
        if self._said is not None and self._rights is not None:
            self._authenticate(self._said)

    # -- as a leaf node ---------------------------------------------------------------------------

    def _secure(self) -> None:
        """Begin TLS with a hub; its end comes as an event where that fails."""
        remote, url = self._connection.remote, self._connection.url
        assert remote is not None
        assert url is not None
        settings = remote.settings.tls or TlsSettings()
        name = remote.settings.tls_name(url) or url.host
        reply = self._server.secure_link(self._link, settings, name)
        self.await_reply(reply, answer=LeafLink._Secured)

    def _take_secured(self, outcome: object) -> None:
        if isinstance(outcome, Exception):
            self._log.error("TLS leafnode handshake error: {error}", error=str(outcome))
            self._perform([Close(ClosedState.TLS_HANDSHAKE_ERROR)])
        else:
            self._perform(self._machine.receive_secured())

    def _greet(self, info: LeafInfo, compression: str) -> None:
        """Say CONNECT to a hub."""
        remote, url = self._connection.remote, self._connection.url
        assert remote is not None
        assert url is not None
        settings = remote.settings
        connect = LeafConnect(
            server_id=self._server.server_id,
            name=self._server.name,
            is_hub=settings.is_hub,
            cluster=self._server.cluster_name,
            headers=self._local.headers and info.headers,
            jetstream=self._local.jetstream,
            domain=self._local.domain,
            deny_pub=settings.deny_imports,
            isolate=settings.requests_isolation,
            compress_mode=compression,
            remote_account=settings.account,
        )
        try:
            signed = signed_in(connect, settings, url, info.nonce)
        except CredentialsError as error:
            self._log.error("{detail}", detail=str(error))
            self._perform([Close(ClosedState.WRITE_ERROR)])
            return
        self._plane.send(self._link, connect_text(signed))

    def _jetstream_section(self) -> Mapping[str, object]:
        return self._server.config.section("jetstream") or {}

    # -- both -------------------------------------------------------------------------------------

    def _register(self, register: Register) -> None:
        peer, accounts = register.peer, self._server.accounts
        remote = self._connection.remote.settings if self._connection.remote else None
        domains = Domains(
            own=self._local.domain,
            has_jetstream=self._local.jetstream,
            is_extended=self._jetstream_section().get("extension_hint") == "will_extend",
            default=accounts.default_domain(peer.account),
            is_system=peer.account == accounts.system_account,
        )
        permissions = permissions_of(peer, remote, domains)
        try:
            self._permissions = self._plane.add_permissions(permissions)
            account = accounts.index(peer.account)
        except (KeyError, ValueError) as error:
            self._log.error(
                "Cannot join account {account}: {detail}", account=peer.account, detail=str(error)
            )
            self._perform([Close(ClosedState.MISSING_ACCOUNT)])
            return
        is_strict = is_strict_with(peer.rights, remote)
        terms = peer_terms(
            register, account=account, permissions=self._permissions, is_strict=is_strict
        )
        # Before it is registered: its first request is to say who asks, too.
        self._plane.set_client_info(self._link, *request_info(self._connection, peer))
        self._plane.register_peer(self._link, terms)
