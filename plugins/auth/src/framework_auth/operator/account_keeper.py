"""The actor that resolves accounts by JWT, and decides on logins by JWT."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.spec import Refused
from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.claims import ClaimsError
from framework_auth.limits import FETCH_WAITERS_MAX, FETCHES_MAX
from framework_auth.operator.user_logins import NeedsAccount, NeedsCallout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import Reply, Timer
    from framework.spec import AccountBook, AccountSpec, LoginAnswer, LoginRequest
    from framework_auth.operator.account_specs import BuiltAccount
    from framework_auth.operator.known_accounts import KnownAccounts
    from framework_auth.operator.trust import Trust
    from framework_auth.operator.user_logins import Step, UserLogins

ACCOUNT_KEEPER: Final = "account_keeper"
"""Name of its ComponentSpec."""

_WAIT_S_MAX: Final = 3_600.0
"""Until the clock is looked at again: it may be set meanwhile."""


class AccountKeeper(Component):
    """Resolve accounts, and follow updates of their claims.

    Args:
        trust: Whom to trust.
        known: Accounts that are known; shared with who looks at logins again.
        logins: Decides on users.
        accounts: The server's; told of each account that is known.
        recheck: Asks again about the clients of an account.
        load: Returns the JWT of an account, in a worker thread; None when there is none.
        ask_others: Asks other servers for the JWT of an account; None: there is nobody to ask.
        ask_service: Asks the service of an account about a login.
        wall_s: Tells Unix time.
        log: The server's logger.
    """

    class LogIn(Struct, frozen=True):
        """Message: decide on a login by JWT."""

        request: LoginRequest
        reply: Reply[LoginAnswer]

    class Resolve(Struct, frozen=True):
        """Message: resolve an account."""

        name: str
        reply: Reply[AccountSpec | None]

    @dataclass(frozen=True, slots=True)
    class Update:
        """Message: the JWT of an account was updated; unknown accounts are ignored."""

        name: str
        token: str = field(repr=False)
        reply: Reply[None]
        """Set when it is in force, or was refused."""

    class Remove(Struct, frozen=True):
        """Message: an account was deleted."""

        name: str
        reply: Reply[None]

    class Reload(Struct, frozen=True):
        """Message: fetch the JWTs of all known accounts again."""

    class _Reloaded(Struct, frozen=True):
        name: str
        outcome: object
        """As in `_Loaded`."""

    class _Loaded(Struct, frozen=True):
        name: str
        outcome: object
        """A JWT, None, or what went wrong."""

    class _Answered(Struct, frozen=True):
        name: str
        outcome: object
        """As in `_Loaded`, of other servers."""

    class _SomethingEnds(Struct, frozen=True):
        """An account or an activation is over."""

    def __init__(
        self,
        *,
        trust: Trust,
        known: KnownAccounts,
        logins: UserLogins,
        accounts: AccountBook,
        recheck: Callable[[str], None],
        load: Callable[[str], str | None],
        ask_others: Callable[[str], Reply[str | None]] | None,
        ask_service: Callable[[LoginRequest, NeedsCallout, Reply[LoginAnswer]], None],
        wall_s: Callable[[], float],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__()
        self._trust = trust
        self._known = known
        self._logins = logins
        self._accounts = accounts
        self._recheck = recheck
        self._load = load
        self._ask_others = ask_others
        self._ask_service = ask_service
        self._wall_s = wall_s
        self._log = log
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        """Accounts that are asked for, and what follows."""
        self._waiters_count = 0
        self._timer: Timer | None = None

    @override
    def on_start(self) -> None:
        self._watch_ends()

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case self.LogIn():
                self._log_in(message)
            case self.Resolve(name, reply):
                self._fetch(name, partial(self._tell_spec, name, reply))
            case self.Update(name, token, reply):
                self._update(name, token)
                reply.set(None)
            case self.Remove(name, reply):
                self._remove(name)
                reply.set(None)
            case self.Reload():
                self._reload()
            case _:
                self._receive_outcome(message)

    def _receive_outcome(self, message: object) -> None:
        """Take what this actor has asked for itself."""
        match message:
            case self._Loaded(name, outcome):
                self._receive_loaded(name, outcome)
            case self._Answered(name, outcome):
                self._receive_answered(name, outcome)
            case self._Reloaded(name, outcome) if isinstance(outcome, str):
                self._update(name, outcome)
            case self._Reloaded():
                return  # gone, or not to be had now: what is known stays
            case self._SomethingEnds():
                self._receive_end()
            case _:
                super().on_receive(message)

    def _reload(self) -> None:
        for name in self._known.names():
            self.run_blocking(self._load, name, answer=partial(self._Reloaded, name))

    def _log_in(self, login: LogIn) -> None:
        self._follow(login, self._logins.begin(login.request, self._wall_s()))

    def _follow(self, login: LogIn, step: Step) -> None:
        match step:
            case NeedsAccount(claims):
                if not self._fetch(claims.account, partial(self._decide, login, step)):
                    login.reply.set(Refused("too many accounts are being resolved"))
            case NeedsCallout():
                self._ask_service(login.request, step, login.reply)
            case answer:
                login.reply.set(answer)

    def _decide(self, login: LogIn, needed: NeedsAccount) -> None:
        self._follow(login, self._logins.decide(login.request, needed, self._wall_s()))

    def _tell_spec(self, name: str, reply: Reply[AccountSpec | None]) -> None:
        reply.set(self._accounts.get(name) if self._known.get(name) else None)

    def _fetch(self, name: str, then: Callable[[], None]) -> bool:
        """Find an account, then call `then`; return False when too many are asked for."""
        if self._known.get(name) is not None or not is_public_key(name, NkeyKind.ACCOUNT):
            then()
            return True
        waiting = self._waiting.get(name)
        is_full = waiting is None and len(self._waiting) >= FETCHES_MAX
        if is_full or self._waiters_count >= FETCH_WAITERS_MAX:
            return False
        self._waiters_count += 1
        if waiting is not None:
            waiting.append(then)
            return True
        self._waiting[name] = [then]
        self.run_blocking(self._load, name, answer=partial(self._Loaded, name))
        return True

    def _receive_loaded(self, name: str, outcome: object) -> None:
        if self._take(name, outcome) or self._ask_others is None:
            self._complete(name)
        else:
            reply = self._ask_others(name)
            self.await_reply(reply, answer=partial(self._Answered, name))

    def _receive_answered(self, name: str, outcome: object) -> None:
        self._take(name, outcome)
        self._complete(name)

    def _take(self, name: str, outcome: object) -> bool:
        """Put what was found in force; return whether it counts."""
        if isinstance(outcome, BaseException):
            self._log.warning("Account fetch failed: {error}", account=name, error=_line(outcome))
            return False
        if not isinstance(outcome, str):
            return False
        try:
            known = self._trust.check_account(outcome, name, self._wall_s())
        except ClaimsError as error:
            self._log.warning(
                "Account {account} is refused: {error}", account=name, error=str(error)
            )
            return False
        self._put(self._known.put(known, self._wall_s()))
        self._watch_ends()
        return True

    def _complete(self, name: str) -> None:
        """Find what an account imports from, then let those go on who wait for it.

        Nobody waits in a circle: an account is known before it waits for others, and waits only
        for those that are not known.
        """
        missing = set(self._known.missing_exporters(name))
        if not missing:
            self._finish(name)
            return

        def receive(exporter: str) -> None:
            if self._known.get(exporter) is None:
                self._log.error(
                    "Account {account} imports from {exporter}, which cannot be found",
                    account=name,
                    exporter=exporter,
                )
            missing.discard(exporter)
            if not missing:
                self._finish(name)

        for exporter in sorted(missing):
            if not self._fetch(exporter, partial(receive, exporter)):
                receive(exporter)

    def _finish(self, name: str) -> None:
        waiting = self._waiting.pop(name, [])
        self._waiters_count -= len(waiting)
        for then in waiting:
            then()

    def _update(self, name: str, token: str) -> None:
        old = self._known.get(name)
        if old is not None and old.token != token and self._take(name, token):
            self._complete(name)
            self._recheck(name)

    def _remove(self, name: str) -> None:
        if self._known.get(name) is None:
            return
        self._put(self._known.remove(name, self._wall_s()))
        self._accounts.remove([name])
        self._watch_ends()

    def _put(self, built: Sequence[BuiltAccount]) -> None:
        for it in built:
            for problem in it.problems:
                self._log.warning("Account {account}: {error}", account=it.spec.name, error=problem)
        if built:
            self._accounts.put([it.spec for it in built])

    def _receive_end(self) -> None:
        changed = self._known.receive_time(self._wall_s())
        self._put(changed)
        for it in changed:
            self._recheck(it.spec.name)
        self._watch_ends()

    def _watch_ends(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if end_s := self._known.next_end_s():
            wait_s = min(max(end_s - self._wall_s(), 0.0), _WAIT_S_MAX)
            self._timer = self.tell_later(wait_s, self._SomethingEnds())


def _line(error: BaseException) -> str:
    return str(error) if isinstance(error, OSError | ClaimsError) else type(error).__name__
