"""Pending logins: which authenticator is asked, and what follows from its answer.

A machine: `Clients` does what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from framework.errors import PluginError
from framework.server.clients.refusals import problem_of
from framework.server.clients.silent_clients import SilentClients
from framework.spec import Accepted, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from framework.spec import Authenticator, LinkId, LoginRequest


class Question(Struct, frozen=True):
    """Ask this authenticator, and pass its answer to `Logins.receive`."""

    link: LinkId
    authenticator: Authenticator
    request: LoginRequest


Step: TypeAlias = Question | Accepted | Refused
"""What follows: one more question, or the decision."""


class _Login(Struct):
    request: LoginRequest
    chain: tuple[Authenticator, ...]
    transport: str
    asked: Authenticator
    following: Iterator[Authenticator]


class Decision(Struct, frozen=True):
    """Outcome of a login, or the next step."""

    request: LoginRequest
    step: Step
    asked: Authenticator
    """The last one."""
    is_current: bool
    """Its chain is still the one in force."""
    problem: str = ""
    """What it failed with, for the log."""


class Logins:
    """Pending logins: clients without CONNECT, and those whose CONNECT is being decided on."""

    def __init__(self) -> None:
        self._chains: Mapping[str, tuple[Authenticator, ...]] = {"": ()}
        """In the order in which they are asked, by the transport on whose clients they decide;
        empty: on those of all that have none of their own."""
        self._waiting_max = 0
        self._waiting: set[LinkId] = set()
        self._silent = SilentClients()
        self._pending: dict[LinkId, _Login] = {}

    def chain(self, transport: str) -> tuple[Authenticator, ...]:
        """Return who decides on clients that come by a transport, in the order of asking."""
        return self._chains.get(transport) or self._chains[""]

    def by_name(self, transport: str) -> Mapping[str, Authenticator]:
        """Return them by name."""
        return {it.name: it for it in self.chain(transport)}

    def are_required(self, transport: str) -> bool:
        """Return whether somebody decides who may begin that comes by a transport."""
        return bool(self.chain(transport))

    def replace(self, authenticators: Sequence[Authenticator], *, waiting_max: int) -> None:
        """Replace the authenticators; pending logins are decided by those that were asked.

        Args:
            authenticators: Asked in order until one decides; none: everybody may begin.
            waiting_max: Clients that may be there without having logged in.
        """
        chains: dict[str, tuple[Authenticator, ...]] = {"": ()}
        for it in authenticators:
            chains[it.transport] = (*chains.get(it.transport, ()), it)
        self._chains = chains
        self._waiting_max = waiting_max

    def admit(self, link: LinkId, host: str) -> LinkId | None:
        """Count a pending login; return the link to close for it, None: there is room.

        That is the longest silent one, of the same address where that has half of all; or the new
        one itself, when all others wait for a decision.
        """
        evicted = None
        if any(self._chains.values()) and len(self._waiting) >= self._waiting_max:
            evicted = self._silent.oldest(host, share=max(1, self._waiting_max // 2))
            if evicted is None:
                return link
            self.forget(evicted)
        self._waiting.add(link)
        self._silent.add(link, host)
        return evicted

    def begin(self, link: LinkId, request: LoginRequest, transport: str = "") -> Question:
        """Begin a login; the client's next CONNECT comes only after the decision."""
        assert link not in self._pending
        self._silent.discard(link)
        chain = self.chain(transport)
        first, *others = chain
        self._pending[link] = _Login(request, chain, transport, first, iter(others))
        return Question(link, first, request)

    def settle(self, link: LinkId) -> None:
        """Note that a login was accepted."""
        self._waiting.discard(link)
        self._silent.discard(link)

    def receive(self, link: LinkId, outcome: object) -> Decision | None:
        """Receive an authenticator's answer, or its exception; None: the client has gone."""
        login = self._pending.get(link)
        if login is None:
            return None
        asked = login.asked
        step, problem = self._step(link, login, outcome)
        if not isinstance(step, Question):
            del self._pending[link]
        is_current = login.chain is self.chain(login.transport)
        return Decision(login.request, step, asked, is_current, problem)

    def forget(self, link: LinkId) -> None:
        """Note that a client has gone."""
        self._waiting.discard(link)
        self._silent.discard(link)
        self._pending.pop(link, None)

    def _step(self, link: LinkId, login: _Login, outcome: object) -> tuple[Step, str]:
        """Return what follows, and what the authenticator failed with."""
        match outcome:
            case Accepted() | Refused():
                return outcome, ""
            case None:
                following = next(login.following, None)
                if following is None:
                    return Refused(), ""
                login.asked = following
                return Question(link, following, login.request), ""
            case PluginError():  # logged already
                return Refused(), ""
            case BaseException():
                return Refused(), problem_of(outcome)
            case _:
                return Refused(), f"answered with {type(outcome).__name__}"
