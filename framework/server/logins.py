"""The logins that are under way: who is asked about them, and what came of it.

A machine without the plane: `clients.py` carries out what it says.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from framework.spec import Accepted, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.spec import Authenticator, LinkId, LoginRequest


@dataclass(frozen=True, slots=True)
class Question:
    """Ask this authenticator, and tell `Logins.receive` what came of it."""

    link: LinkId
    authenticator: Authenticator
    request: LoginRequest


Step: TypeAlias = Question | Accepted | Refused
"""What follows: one more question, or the decision."""


@dataclass(slots=True)
class _Login:
    request: LoginRequest
    asked: Authenticator
    following: Iterator[Authenticator]


class Logins:
    """Clients that have not logged in, and those whose CONNECT is being decided on.

    Args:
        authenticators: Asked in order until one decides; at least one.
        waiting_max: Clients that may be there without having logged in.
        log: The server's logger.
    """

    def __init__(
        self,
        authenticators: Sequence[Authenticator],
        *,
        waiting_max: int,
        log: FilteringBoundLogger,
    ) -> None:
        assert authenticators
        self._authenticators = tuple(authenticators)
        self._waiting_max = waiting_max
        self._log = log
        self._waiting: set[LinkId] = set()
        self._pending: dict[LinkId, _Login] = {}

    def admit(self, link: LinkId) -> bool:
        """Count a client that has not logged in; return False when that is one too many."""
        if len(self._waiting) >= self._waiting_max:
            return False
        self._waiting.add(link)
        return True

    def begin(self, link: LinkId, request: LoginRequest) -> Question:
        """Begin to decide on a CONNECT; the client's next one comes only after the decision."""
        assert link not in self._pending
        first, *others = self._authenticators
        self._pending[link] = _Login(request, first, iter(others))
        return Question(link, first, request)

    def receive(self, link: LinkId, outcome: object) -> tuple[LoginRequest, Step] | None:
        """Take what came of a question: an answer, or an exception.

        Returns:
            What was asked for, and what follows; None when the client has gone.
        """
        login = self._pending.get(link)
        if login is None:
            return None
        step = self._step(link, login, outcome)
        if not isinstance(step, Question):
            del self._pending[link]
        if isinstance(step, Accepted):
            self._waiting.discard(link)
        return login.request, step

    def forget(self, link: LinkId) -> None:
        """Take note that a client has gone."""
        self._waiting.discard(link)
        self._pending.pop(link, None)

    def _step(self, link: LinkId, login: _Login, outcome: object) -> Step:
        match outcome:
            case Accepted() | Refused():
                return outcome
            case None:
                following = next(login.following, None)
                if following is None:
                    return Refused()
                login.asked = following
                return Question(link, following, login.request)
            case BaseException():
                problem = f"raised {type(outcome).__name__}{_place_of(outcome)}"
            case _:
                problem = f"answered with {type(outcome).__name__}"
        # Not the error itself: its text may repeat what the client sent.
        self._log.error(
            "Authenticator {component} failed", component=login.asked.name, error=problem
        )
        return Refused()


def _place_of(error: BaseException) -> str:
    """Return where an error was raised, for the log; empty when that is not known."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return ""
    frame, line = frames[-1]
    return f" at {frame.f_code.co_filename}:{line}"
