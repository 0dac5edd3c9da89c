"""The actor that compares secrets: at once where it can, else by hashes in worker threads."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from framework.actors import Component
from framework.spec import Accepted, Refused
from framework_auth.limits import CHECKS_AT_ONCE, CHECKS_WAITING_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Reply
    from framework.spec import LoginAnswer
    from framework_auth.bcrypt_hash import BcryptHash
    from framework_auth.passwords import Passwords

PASSWORD_CHECKER: Final = "password_checker"  # noqa: S105 - no password
"""Name of its ComponentSpec."""

_NS_PER_S: Final = 1_000_000_000


class PasswordChecker(Component):
    """Answer logins, in the order in which they came unless a hash must be computed.

    Args:
        passwords: All that there are; they learn what was found right.
        timeout_s: A login that waited longer is refused unchecked: its client is gone by then.
        matches: Computes a hash, see `hashing`; None when there are none.
    """

    @dataclass(frozen=True, slots=True)
    class Check:
        """Message: find out whether a secret is right."""

        user: str
        given: bytes = field(repr=False)
        reply: Reply[LoginAnswer]

    @dataclass(frozen=True, slots=True)
    class _Checked:
        check: PasswordChecker.Check
        outcome: object
        """Whether it is right, or what the check raised."""

    def __init__(
        self,
        *,
        passwords: Passwords,
        timeout_s: float,
        matches: Callable[[bytes, BcryptHash | None, BcryptHash], bool] | None,
    ) -> None:
        super().__init__()
        assert (matches is None) is (passwords.decoy is None)
        self._passwords = passwords
        self._timeout_ns = int(timeout_s * _NS_PER_S)
        self._matches = matches
        self._waiting: deque[tuple[PasswordChecker.Check, int]] = deque()
        self._running_count = 0

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case self.Check():
                self._receive_check(message)
            case self._Checked(check, outcome):
                self._receive_checked(check, outcome)
            case _:
                super().on_receive(message)

    @override
    def on_stop(self) -> None:
        while self._waiting:
            check, _ = self._waiting.popleft()
            check.reply.set(Refused("the server stops"))

    def _receive_check(self, check: Check) -> None:
        if self._passwords.is_known(check.user, check.given):
            check.reply.set(Accepted(check.user))
        elif self._matches is None:
            check.reply.set(Refused())
        elif len(self._waiting) >= CHECKS_WAITING_MAX:
            check.reply.set(Refused("too many logins at once"))
        else:
            self._waiting.append((check, self.now_ns()))
            self._start_checks()

    def _receive_checked(self, check: Check, outcome: object) -> None:
        self._running_count -= 1
        match outcome:
            case True:
                self._passwords.learn(check.user, check.given)
                check.reply.set(Accepted(check.user))
            case False:
                check.reply.set(Refused())
            case error:
                # Its text might repeat what the client sent.
                check.reply.set(Refused(f"the check failed: {type(error).__name__}"))
        self._start_checks()

    def _start_checks(self) -> None:
        while self._waiting and self._running_count < CHECKS_AT_ONCE:
            check, since_ns = self._waiting.popleft()
            if self.now_ns() - since_ns > self._timeout_ns:
                check.reply.set(Refused("no time was left to check it"))
            elif self._passwords.is_known(check.user, check.given):
                check.reply.set(Accepted(check.user))
            else:
                self._start_check(check)

    def _start_check(self, check: Check) -> None:
        assert self._matches is not None
        assert self._passwords.decoy is not None
        self._running_count += 1
        self.run_blocking(
            self._matches,
            check.given,
            self._passwords.hash_of(check.user),
            self._passwords.decoy,
            answer=partial(self._Checked, check),
        )
