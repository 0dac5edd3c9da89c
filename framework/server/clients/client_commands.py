"""Perform the effects of the client table: on the plane, in the log, for those that hear of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.errors import PluginError
from framework.server.clients.client_effects import (
    Began,
    Close,
    Ended,
    Identify,
    Noted,
    Recheck,
    RefusalNoted,
    Reported,
    Resume,
    Update,
)
from framework.server.clients.client_quotas import ClientQuotas
from framework.server.clients.logins import Question
from framework.server.clients.refusals import FAILED, log_refusal, problem_of
from framework.server.clients.violations import log_violated
from framework.server.listening import joined_address
from framework.server.logging.log_line import DEBUG
from framework.spec import (
    UNLIMITED,
    Closed,
    ClosedState,
    Opened,
    Permissions,
    Refused,
    SubjectRules,
    Violated,
)
from framework.spec.endings import log_ending
from framework.spec.tracing import log_traced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.server.clients.client_effects import ClientEffect, Rights
    from framework.server.clients.client_notices import ClientWatcher, ConnectionNotices
    from framework.server.clients.client_row import Client
    from framework.server.clients.clients import Clients
    from framework.server.plane_port import ServerPlane
    from framework.server.transports import LinkFacts
    from framework.spec import (
        Accepted,
        AccountBook,
        ConnectionInfo,
        Event,
        LinkId,
        Quota,
        TlsPeer,
    )

_NONE: Final = SubjectRules(deny=(">",))
_NOTHING: Final = Permissions(publish=_NONE, subscribe=_NONE)


class ClientCommands:
    """Pass events to the client table, and do what it decides.

    Args:
        plane: Takes the commands.
        clients: The table.
        accounts: Knows the number of each account.
        headers: Whether clients may use headers.
        notices: Hears of who comes and goes; None when nobody wants to.
        log: The server's logger.
        describe: What services of other accounts are told of a client.
        tls_peers: Of links that speak TLS; those of closed links are taken out.
        facts: Of links that came by a transport, in the same way.
        ask_quotas: What plugins say that a client may publish; None: no plugin says anything.
    """

    def __init__(
        self,
        plane: ServerPlane,
        clients: Clients,
        *,
        accounts: AccountBook,
        headers: bool,
        notices: ConnectionNotices | None,
        log: FilteringBoundLogger,
        describe: Callable[[Client], tuple[bytes, bytes]],
        tls_peers: MutableMapping[LinkId, TlsPeer],
        facts: MutableMapping[LinkId, LinkFacts] | None = None,
        ask_quotas: Callable[[ConnectionInfo], Iterable[Quota]] | None = None,
    ) -> None:
        self.quotas = ClientQuotas(plane, ask_quotas, log=log)
        """How much clients may publish."""
        self.watchers: list[ClientWatcher] = []
        """Who hears of clients inside the server."""
        self._plane = plane
        self._clients = clients
        self._accounts = accounts
        self._headers = headers
        self._notices = notices
        self._log = log
        self._describe = describe
        self._tls_peers = tls_peers
        self._facts = {} if facts is None else facts
        self._is_debug = False
        self._questions: list[Question] = []
        self._actions: Mapping[type, Callable[..., None]] = {
            Began: self._report_began,
            Close: self._close,
            Ended: self._end,
            Identify: self._identify,
            Noted: self._note,
            Question: self._questions.append,
            Recheck: self._recheck,
            RefusalNoted: self._note_refusal,
            Reported: self._note_reported,
            Resume: self._resume,
            Update: self._update,
        }

    def receive(self, events: Iterable[Event], now_s: float) -> Sequence[Question]:
        """Pass events of client links on, in order; return questions for authenticators."""
        self._is_debug = self._log.is_enabled_for(DEBUG)
        receive, actions = self._clients.receive, self._actions
        self._plane.hold()
        try:
            for event in events:
                if self._is_debug and type(event) is Opened:
                    self._note_opened(event)
                for effect in receive(event, now_s):
                    actions[type(effect)](effect)
                if type(event) is Closed:
                    self._tls_peers.pop(event.link, None)
                    self._facts.pop(event.link, None)
        finally:
            self._plane.release()
        return self._take_questions()

    def perform(self, effects: Iterable[ClientEffect]) -> Sequence[Question]:
        """Do what the table has decided, in order; return questions for authenticators."""
        self._perform(effects)
        return self._take_questions()

    def _perform(self, effects: Iterable[ClientEffect]) -> None:
        actions = self._actions
        for effect in effects:
            actions[type(effect)](effect)

    def _take_questions(self) -> Sequence[Question]:
        if not self._questions:
            return ()
        questions = tuple(self._questions)
        self._questions.clear()
        return questions

    # -- on the plane ------------------------------------------------------------------------------

    def _close(self, effect: Close) -> None:
        self._plane.close(effect.link, effect.reason, effect.last_words)

    def _identify(self, effect: Identify) -> None:
        self._plane.set_client_info(effect.client.link, *self._describe(effect.client))
        self.quotas.follow(effect.client)

    def _resume(self, effect: Resume) -> None:
        client, connect = effect.client, effect.connect
        if retired := self._renumber(client, effect.rights):
            self._plane.drop_permissions(retired)
        self._plane.resume_client(
            client.link,
            account=self._accounts.index(client.account),
            verbose=connect.verbose,
            pedantic=connect.pedantic,
            echo=connect.echo,
            headers=self._headers and connect.headers,
            no_responders=connect.no_responders,
            protocol=connect.protocol,
            **_powers_of(client),
        )

    def _update(self, effect: Update) -> None:
        client, before = effect.client, effect.client.permissions
        retired = self._renumber(client, effect.rights)
        if effect.has_new_limits or client.permissions != before:
            subscriptions, payload = client.limits
            self._plane.set_client(
                client.link,
                permissions=client.permissions,
                max_subscriptions=subscriptions,
                max_payload=payload,
            )
        if retired:
            self._plane.drop_permissions(retired)

    def _renumber(self, client: Client, rights: Rights) -> int:
        """Number the permissions of a client; return the number that has served its time, or 0."""
        if not rights.are_new:
            return 0
        retired, client.permissions = client.permissions, 0
        if rights.permissions is not None:
            client.permissions = self._number(rights.permissions)
        return retired

    def _number(self, permissions: Permissions) -> int:
        """Return the number of permissions; those with a bad rule allow nothing at all."""
        try:
            return self._plane.add_permissions(permissions)
        except ValueError as error:
            self._log.error("Invalid permissions deny everything: {detail}", detail=str(error))
            return self._plane.add_permissions(_NOTHING)

    # -- who hears of it ---------------------------------------------------------------------------

    def _report_began(self, effect: Began) -> None:
        if self._notices:
            self._notices.report_opened(effect.seen.connection)
        for watcher in self.watchers:
            watcher.client_connected(effect.seen)

    def _end(self, effect: Ended) -> None:
        client, closed = effect.client, effect.closed
        self.quotas.leave(client)
        if client.permissions:
            self._plane.drop_permissions(client.permissions)
            client.permissions = 0
        log = self._log.bind(**client.prefix())
        log_ending(log, closed)
        if self._is_debug:
            log.debug("Client connection closed: {reason}", reason=closed.reason.text)
        seen, begun = client.seen(), client.has_begun
        if self._notices and begun:
            self._notices.report_closed(seen.connection, closed.reason)
        for watcher in self.watchers:
            if closed.reason is ClosedState.AUTHENTICATION_VIOLATION:
                watcher.client_refused(seen, closed)
            if begun:
                watcher.client_disconnected(seen, closed)

    def _recheck(self, effect: Recheck) -> None:
        answer = self._answer_today(effect)
        self._perform(self._clients.changes.receive_rechecked(effect.client, answer))

    def _answer_today(self, effect: Recheck) -> Accepted | Refused:
        asked = effect.authenticator
        assert asked.recheck
        try:
            return asked.recheck(effect.request, effect.accepted)
        except PluginError:  # logged already
            return Refused()
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody says that it may stay
            problem = problem_of(error)
            self._log.error(FAILED, component=asked.name, plugin=asked.plugin, error=problem)
            return Refused()

    # -- in the log --------------------------------------------------------------------------------

    def _note_opened(self, event: Opened) -> None:
        remote = joined_address(event.host, event.port)
        self._log.debug("Client connection created", remote=remote, cid=event.cid)

    def _note(self, effect: Noted) -> None:
        write = self._log.error if effect.level == "error" else self._log.info
        write(effect.event, **effect.fields)

    def _note_refusal(self, effect: RefusalNoted) -> None:
        log_refusal(self._log, effect.client, effect.connect, effect.refused)

    def _note_reported(self, effect: Reported) -> None:
        client, event = effect.client, effect.event
        if isinstance(event, Violated):
            log_violated(self._log, client, event)
        else:
            log_traced(self._log.bind(**client.prefix()), event)


def _powers_of(client: Client) -> Mapping[str, int]:
    """Return a client's own permissions and limits as arguments of the data plane."""
    if not client.permissions and client.limits == (UNLIMITED, UNLIMITED):
        return {}
    subscriptions, payload = client.limits
    return {
        "permissions": client.permissions,
        "max_subscriptions": subscriptions,
        "max_payload": payload,
    }
