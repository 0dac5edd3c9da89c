"""Operator mode of one server: its parts, wired together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from framework.actors import Reply
from framework.errors import PluginError
from framework.spec import (
    SYSTEM_ACCOUNT,
    Accepted,
    AccountPlan,
    Authenticator,
    ComponentSpec,
    LinkKind,
    Refused,
    TapSpec,
    TrustedOperator,
)
from framework.spec.formats import time_text
from framework.wire.version import NATS_VERSION
from framework_auth.claims import ClaimsError
from framework_auth.operator.account_keeper import ACCOUNT_KEEPER, AccountKeeper
from framework_auth.operator.admission import Proof
from framework_auth.operator.claims_directory import (
    CLAIMS_DIRECTORY,
    PACK_QUEUE,
    PACK_SUBJECT,
    ClaimsDirectory,
)
from framework_auth.operator.claims_services import ClaimsServices
from framework_auth.operator.known_accounts import KnownAccounts
from framework_auth.operator.sources import make_sources
from framework_auth.operator.trust import Trust
from framework_auth.operator.user_logins import UserLogins
from framework_auth.resolver.directory import DirectoryError
from framework_auth.resolver_options import ResolverKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from framework.spec import (
        AccountSpec,
        Batch,
        LoginAnswer,
        LoginRequest,
        ServerContext,
        ServiceSpec,
    )
    from framework_auth.operator.user_logins import NeedsCallout
    from framework_auth.operator_settings import OperatorSettings

_NS_PER_S: Final = 1_000_000_000


class OperatorMode:
    """Everything that operator mode adds to a server.

    Args:
        settings: What it is told.
        server: The server.
        timeout_s: How long a login may take.
        ask_service: Asks the service of an account about a login.
    """

    def __init__(
        self,
        settings: OperatorSettings,
        server: ServerContext,
        *,
        timeout_s: float,
        ask_service: Callable[[LoginRequest, NeedsCallout, Reply[LoginAnswer]], None],
    ) -> None:
        self._settings = settings
        self._server = server
        self._timeout_s = timeout_s
        self._ask_service = ask_service
        self._trust = Trust(settings)
        self.known = KnownAccounts()
        self.logins = UserLogins(self._trust, self.known, sentinel=settings.default_sentinel)
        self._sources = make_sources(settings, self._trust, wall_s)
        self._inbox = f"$SYS._INBOX.{server.server_id}.claims"
        self.peers_count = 0
        """Connections to other servers."""

    def components(self) -> Iterable[ComponentSpec]:
        """Return the actors that resolve accounts, and keep them."""
        yield ComponentSpec(name=ACCOUNT_KEEPER, factory=lambda _: (AccountKeeper, self._keeper()))
        if self._sources.directory is not None:
            yield ComponentSpec(
                name=CLAIMS_DIRECTORY, factory=lambda _: (ClaimsDirectory, self._directory())
            )

    def plan(self) -> AccountPlan:
        """Return the accounts to begin with: the system account.

        Raises:
            PluginError: It cannot be resolved.
        """
        self._preload()
        name = self._settings.system_account
        return AccountPlan(
            accounts=self._system_account(name) if name else (),
            system_account=name or SYSTEM_ACCOUNT,
            resolve=self.resolve,
            trusted_operators=tuple(
                TrustedOperator(jwt, claims.document())
                for jwt, claims in zip(
                    self._settings.operator_jwts, self._settings.operators, strict=True
                )
            ),
        )

    def authenticator(self) -> Authenticator:
        """Return the authenticator of logins by JWT."""
        return Authenticator(
            name="operator",
            authenticate=self._authenticate,
            recheck=self._recheck,
            timeout_s=self._timeout_s,
            wants_nonce=True,
        )

    def services(self) -> Sequence[ServiceSpec]:
        """Return the services for `$SYS` requests about account JWTs."""
        services = ClaimsServices(
            self._settings,
            self._trust,
            store=self._sources.directory,
            is_cache=self._settings.resolver.kind is ResolverKind.CACHE,
            is_known=lambda name: self.known.get(name) is not None,
            update=self._update,
            remove=self._remove,
            server=self._server_document,
        )
        return services.specs()

    def taps(self) -> Iterable[TapSpec]:
        """Return the taps on what other servers send to the directory."""
        if self._sources.directory is None:
            return
        account = self._server.accounts.system_account
        yield TapSpec(
            name="claims answers",
            subject=f"{self._inbox}.>",
            receive=self._receive_answers,
            account=account,
        )
        if self._settings.resolver.kind is ResolverKind.FULL:
            yield TapSpec(
                name="claims pack",
                subject=PACK_SUBJECT,
                queue=PACK_QUEUE,
                receive=self._receive_compares,
                account=account,
            )

    def reload(self) -> None:
        """Fetch the JWTs of all accounts again."""
        self._server.component(ACCOUNT_KEEPER).tell(AccountKeeper.Reload())
        if self._sources.directory is not None:
            self._server.component(CLAIMS_DIRECTORY).tell(ClaimsDirectory.Reload())

    def receive_peer(self, change: int) -> None:
        """Take note of a connection to another server that came (1) or went (-1)."""
        self.peers_count += change
        if change > 0 and self._sources.directory is not None:
            self._server.component(CLAIMS_DIRECTORY).tell(ClaimsDirectory.PeerCame())

    def _keeper(self) -> Mapping[str, object]:
        return {
            "trust": self._trust,
            "known": self.known,
            "logins": self.logins,
            "accounts": self._server.accounts,
            "recheck": self._server.recheck_logins,
            "load": self._sources.source.load,
            "ask_others": self._ask_others if self._sources.directory else None,
            "ask_service": self._ask_service,
            "wall_s": wall_s,
            "log": self._server.log,
        }

    def _directory(self) -> Mapping[str, object]:
        resolver = self._settings.resolver
        return {
            "store": self._sources.directory,
            "publish": self._publish,
            "inbox": self._inbox,
            "interval_s": resolver.interval_s if resolver.kind is ResolverKind.FULL else 0.0,
            "timeout_s": resolver.timeout_s,
            "has_peers": lambda: self.peers_count > 0,
            "changed": self._tell_change,
            "log": self._server.log,
        }

    def _preload(self) -> None:
        directory = self._sources.directory
        if directory is None:
            return
        directory.prepare()
        for name, token in self._settings.preload.items():
            try:
                directory.save_if_newer(name, token)
            except (ClaimsError, DirectoryError, OSError) as error:
                self._server.log.warning(
                    "Account {account} cannot be preloaded: {error}",
                    account=name,
                    error=str(error),
                )

    def _system_account(self, name: str) -> tuple[AccountSpec, ...]:
        try:
            token = self._sources.source.load(name)
            if token is None:
                raise ClaimsError("there is none")  # noqa: TRY301 - one error for all causes
            known = self._trust.check_account(token, name, wall_s())
        except (ClaimsError, OSError) as error:
            raise PluginError(
                "auth",
                f"error resolving system account {name}: {error}",
                fix="add its JWT to `resolver_preload`, or let the resolver have it",
            ) from error
        return tuple(it.spec for it in self.known.put(known, wall_s()))

    def resolve(self, name: str) -> Reply[AccountSpec | None]:
        """Resolve an account, known or not."""
        reply: Reply[AccountSpec | None] = Reply()
        self._server.component(ACCOUNT_KEEPER).tell(AccountKeeper.Resolve(name, reply))
        return reply

    def _authenticate(self, request: LoginRequest) -> Reply[LoginAnswer]:
        reply: Reply[LoginAnswer] = Reply()
        self._server.component(ACCOUNT_KEEPER).tell(AccountKeeper.LogIn(request, reply))
        return reply

    def _recheck(self, request: LoginRequest, accepted: Accepted) -> Accepted | Refused:
        if not isinstance(accepted.proof, Proof):
            return Refused("it was not accepted by its account")
        return self.logins.recheck(request, accepted.proof, wall_s())

    def _ask_others(self, name: str) -> Reply[str | None]:
        reply: Reply[str | None] = Reply()
        directory = self._server.component(CLAIMS_DIRECTORY)
        directory.tell(ClaimsDirectory.AskOthers(name, reply))
        return reply

    async def _update(self, name: str, token: str) -> None:
        done: Reply[None] = Reply()
        self._server.component(ACCOUNT_KEEPER).tell(AccountKeeper.Update(name, token, done))
        await done

    async def _remove(self, name: str) -> None:
        done: Reply[None] = Reply()
        self._server.component(ACCOUNT_KEEPER).tell(AccountKeeper.Remove(name, done))
        await done

    def _tell_change(self, name: str, token: str) -> None:
        update = AccountKeeper.Update(name, token, Reply())
        self._server.component(ACCOUNT_KEEPER).tell(update)

    def _publish(self, messages: Sequence[tuple[str, str, bytes]]) -> None:
        accounts = self._server.accounts
        self._server.plane.publish(
            accounts.index(accounts.system_account),
            [(subject.encode(), reply.encode(), b"", data) for subject, reply, data in messages],
        )

    def _receive_answers(self, batch: Batch) -> None:
        directory = self._server.component(CLAIMS_DIRECTORY)
        for subject, _, _, payload in batch.detach():
            what, _, name = subject.decode().removeprefix(f"{self._inbox}.").partition(".")
            text = payload.decode("ascii", "replace")
            if what == "lookup":
                directory.tell(ClaimsDirectory.Found(name, text))
            elif what == "pack" and text:
                directory.tell(ClaimsDirectory.Merge(text))

    def _receive_compares(self, batch: Batch) -> None:
        directory = self._server.component(CLAIMS_DIRECTORY)
        for _, reply, _, payload in batch.detach():
            compare = ClaimsDirectory.Compare(reply.decode("utf-8", "replace"), payload)
            directory.tell(compare)

    def _server_document(self) -> Mapping[str, object]:
        """Return who answers. Source: nats-server `events.go`, `ServerInfo`."""
        host, _ = self._server.listening_address(LinkKind.CLIENT) or ("", 0)
        document: dict[str, object] = {
            "name": self._server.name,
            "host": host,
            "id": self._server.server_id,
        }
        if self._server.cluster_name:
            document["cluster"] = self._server.cluster_name
        now = time_text(time.time_ns())
        return {**document, "ver": NATS_VERSION, "seq": 0, "jetstream": False, "time": now}


def wall_s() -> float:
    """Return Unix time."""
    return time.time_ns() / _NS_PER_S
