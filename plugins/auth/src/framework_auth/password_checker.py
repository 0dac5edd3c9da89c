"""The actor that compares passwords, hashes in worker threads."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.spec import Redacted, Refused
from framework_auth.directory import Proof, Way
from framework_auth.limits import CHECKS_AT_ONCE, CHECKS_WAITING_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Reply
    from framework.spec import LoginAnswer
    from framework_auth.bcrypt_hash import BcryptHash
    from framework_auth.directory import Directory

PASSWORD_CHECKER: Final = "password_checker"  # noqa: S105 - no password
"""Name of its ComponentSpec."""

_NS_PER_S: Final = 1_000_000_000


class PasswordChecker(Component):
    """Compare passwords of logins, in order unless a hash must be computed.

    Args:
        matches: Computes a hash, see `hashing`.
    """

    class Check(Redacted, frozen=True):
        """Message: compare a password."""

        hidden: ClassVar = frozenset({"given"})

        directory: Directory
        """The users in force; it learns what was found right."""
        user: str
        given: bytes
        connection_type: str
        reply: Reply[LoginAnswer]

    class _Checked(Struct, frozen=True):
        check: PasswordChecker.Check
        expected: BcryptHash | None
        outcome: object
        """Whether it is right, or what the check raised."""

    def __init__(
        self,
        *,
        matches: Callable[[bytes, BcryptHash | None, BcryptHash], bool],
    ) -> None:
        super().__init__()
        self._matches = matches
        self._waiting: deque[tuple[PasswordChecker.Check, int]] = deque()
        self._running_count = 0

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case self.Check():
                self._receive_check(message)
            case self._Checked():
                self._receive_checked(message)
            case _:
                super().on_receive(message)

    @override
    def on_stop(self) -> None:
        while self._waiting:
            check, _ = self._waiting.popleft()
            check.reply.set(Refused("the server stops"))

    def _receive_check(self, check: Check) -> None:
        passwords = check.directory.passwords
        if passwords.is_known(check.user, check.given):
            self._accept(check)
        elif passwords.decoy is None:
            self._refuse(check)
        elif len(self._waiting) >= CHECKS_WAITING_MAX:
            check.reply.set(Refused("too many logins at once"))
        else:
            self._waiting.append((check, self.now_ns()))
            self._start_checks()

    def _receive_checked(self, message: _Checked) -> None:
        self._running_count -= 1
        check, passwords = message.check, message.check.directory.passwords
        match message.outcome:
            case True if passwords.hash_of(check.user) == message.expected:
                passwords.learn(check.user, check.given)
                self._accept(check)
            case bool():
                # Also when it was right, but the hash was replaced meanwhile.
                self._refuse(check)
            case error:
                # Its text might repeat what the client sent.
                check.reply.set(Refused(f"the check failed: {type(error).__name__}"))
        self._start_checks()

    def _accept(self, check: Check) -> None:
        digest = check.directory.passwords.digest(check.given)
        proof = Proof(Way.SECRET, check.user, digest)
        check.reply.set(check.directory.accept(proof, check.connection_type))

    def _refuse(self, check: Check) -> None:
        """Refuse who is known here; who is not may be known to the next authenticator."""
        is_known = check.directory.find(Way.SECRET, check.user) is not None
        check.reply.set(Refused() if is_known else None)

    def _start_checks(self) -> None:
        while self._waiting and self._running_count < CHECKS_AT_ONCE:
            check, since_ns = self._waiting.popleft()
            if self.now_ns() - since_ns > check.directory.users.timeout_s * _NS_PER_S:
                # Its client is gone by now.
                check.reply.set(Refused("the check took too long"))
            elif check.directory.passwords.is_known(check.user, check.given):
                self._accept(check)
            else:
                self._start_check(check)

    def _start_check(self, check: Check) -> None:
        passwords = check.directory.passwords
        if passwords.decoy is None:
            self._refuse(check)
            return
        self._running_count += 1
        expected = passwords.hash_of(check.user)
        self.run_blocking(
            self._matches,
            check.given,
            expected,
            passwords.decoy,
            answer=partial(self._Checked, check, expected),
        )
