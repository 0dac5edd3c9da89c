"""The actor of a full resolver: keeps a directory of JWTs in sync with other servers.

Servers compare a digest of all that they have; one whose digest differs is sent everything, and
takes what is newer. Source: nats-server `accounts.go`, `DirAccResolver`, `fetch`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.claims import ClaimsError
from framework_auth.resolver.directory import DirectoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.actors import Reply, Timer
    from framework_auth.resolver.directory import AccountDirectory

CLAIMS_DIRECTORY: Final = "claims_directory"
"""Name of its ComponentSpec."""

PACK_SUBJECT: Final = "$SYS.REQ.CLAIMS.PACK"
LOOKUP_SUBJECT: Final = "$SYS.REQ.ACCOUNT.{}.CLAIMS.LOOKUP"
PACK_QUEUE: Final = "responder"
"""One server answers a comparison. Source: `accounts.go`, `sysSubscribeQ`."""

_PEER_SYNC_S: Final = 1.0
"""After another server came: its interest is here by then, and others that come with it too."""

PACK_ANSWERS_MAX: Final = 8
"""Comparisons that are answered at a time; more stay unanswered, and are asked again later."""


class ClaimsDirectory(Component):
    """Answer lookups from the directory, and look up what is missing.

    Args:
        store: The directory; used in worker threads.
        publish: Sends messages of (subject, reply, payload) in the system account.
        inbox: Subject under which answers come, without a dot at its end.
        interval_s: Between two comparisons; 0: none are made, as of a cache.
        timeout_s: How long others may take to send an account.
        has_peers: Tells whether there is any other server.
        changed: Told of each account of which another JWT was taken from others.
        log: The server's logger.
    """

    class AskOthers(Struct, frozen=True):
        """Message: look up an account on other servers."""

        name: str
        reply: Reply[str | None]

    @dataclass(frozen=True, slots=True)
    class Found:
        """Message: another server has answered a lookup."""

        name: str
        token: str = field(repr=False)

    class Compare(Struct, frozen=True):
        """Message: another server asks for JWTs that it does not have."""

        reply_subject: str
        digest: bytes

    @dataclass(frozen=True, slots=True)
    class Merge:
        """Message: another server sends JWTs: lines of `public key|JWT`."""

        pack: str = field(repr=False)

    class Reload(Struct, frozen=True):
        """Message: read the directory again."""

    class PeerCame(Struct, frozen=True):
        """Message: another server has joined."""

    class _CompareDue(Struct, frozen=True):
        """It is time to compare again."""

    class _AskedTooLong(Struct, frozen=True):
        name: str

    class _Opened(Struct, frozen=True):
        outcome: object

    class _Digested(Struct, frozen=True):
        outcome: object

    class _Packed(Struct, frozen=True):
        compare: ClaimsDirectory.Compare
        outcome: object

    @dataclass(frozen=True, slots=True)
    class _Kept:
        name: str
        token: str = field(repr=False)
        outcome: object
        """Whether it is another one than before, or what went wrong."""

    MAILBOX_MAX: ClassVar[int] = 100_000
    """Other servers send one message an account."""

    def __init__(
        self,
        *,
        store: AccountDirectory,
        publish: Callable[[Sequence[tuple[str, str, bytes]]], None],
        inbox: str,
        interval_s: float,
        timeout_s: float,
        has_peers: Callable[[], bool],
        changed: Callable[[str, str], None],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__()
        self._store = store
        self._publish = publish
        self._inbox = inbox
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._has_peers = has_peers
        self._changed = changed
        self._log = log
        self._asked: dict[str, tuple[Reply[str | None], Timer]] = {}
        self._packs_running = 0
        self._sync: Timer | None = None

    @override
    def on_start(self) -> None:
        self.run_blocking(self._store.open, answer=self._Opened)

    @override
    def on_stop(self) -> None:
        for reply, _ in self._asked.values():
            reply.set(None)
        self._asked.clear()

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case self.AskOthers(name, reply):
                self._ask_others(name, reply)
            case self.Found(name, token):
                self._receive_found(name, token)
            case self.Compare():
                self._receive_compare(message)
            case self.Merge(pack):
                self._receive_merge(pack)
            case self.Reload():
                self.run_blocking(self._store.open, answer=self._Opened)
            case self.PeerCame() | self._CompareDue():
                self._receive_due(message)
            case self._AskedTooLong(name):
                self._answer(name, None)
            case _:
                self._receive_outcome(message)

    def _receive_outcome(self, message: object) -> None:
        """Take what came of work in a thread."""
        match message:
            case self._Opened(outcome):
                self._receive_opened(outcome)
            case self._Digested(outcome) if isinstance(outcome, bytes):
                self._publish([(PACK_SUBJECT, f"{self._inbox}.pack", outcome)])
            case self._Digested(outcome):
                self._log.error(
                    "Account JWTs cannot be compared with other servers", error=repr(outcome)
                )
            case self._Packed(compare, outcome):
                self._receive_packed(compare, outcome)
            case self._Kept(name, token, outcome):
                self._receive_kept(name, token, outcome)
            case _:
                super().on_receive(message)

    def _ask_others(self, name: str, reply: Reply[str | None]) -> None:
        if name in self._asked or not self._has_peers():
            reply.set(None)
            return
        timer = self.tell_later(self._timeout_s, self._AskedTooLong(name))
        self._asked[name] = reply, timer
        subject = LOOKUP_SUBJECT.format(name)
        self._publish([(subject, f"{self._inbox}.lookup.{name}", b"")])

    def _receive_found(self, name: str, token: str) -> None:
        # An empty answer says that one server does not have it; another one may.
        if token and name in self._asked:
            self._keep(name, token)

    def _receive_merge(self, pack: str) -> None:
        for line in pack.split("\n"):
            name, divider, token = line.partition("|")
            if divider and is_public_key(name, NkeyKind.ACCOUNT):
                self._keep(name, token)
            elif line:
                self._log.error("DirResolver - Merging resulted in a line that is no account")

    def _keep(self, name: str, token: str) -> None:
        kept = partial(self._Kept, name, token)
        self.run_blocking(self._store.save_if_newer, name, token, answer=kept)

    def _receive_kept(self, name: str, token: str, outcome: object) -> None:
        match outcome:
            case bool():
                if outcome:
                    self._changed(name, token)
                self._answer(name, token)
            case ClaimsError() | DirectoryError() | OSError():
                self._log.error(
                    "DirResolver - {account} of another server is refused: {error}",
                    account=name,
                    error=str(outcome),
                )
            case _:
                self._log.error("DirResolver - merging failed", error=repr(outcome))

    def _answer(self, name: str, token: str | None) -> None:
        asked = self._asked.pop(name, None)
        if asked is not None:
            reply, timer = asked
            timer.cancel()
            reply.set(token)

    def _receive_opened(self, outcome: object) -> None:
        if isinstance(outcome, BaseException):
            self._log.error("DirResolver - the directory cannot be read", error=repr(outcome))
            return
        assert isinstance(outcome, list)
        for damage in outcome:
            self._log.error(
                "DirResolver - {path} is refused: {error}", path=damage.file, error=damage.problem
            )
        if self._sync is None:
            self._arm(self._interval_s)

    def _receive_due(self, message: object) -> None:
        if not self._interval_s:
            return
        if isinstance(message, self.PeerCame):
            self._arm(_PEER_SYNC_S)
            return
        self.run_blocking(self._store.digest, answer=self._Digested)
        self._arm(self._interval_s)

    def _arm(self, delay_s: float) -> None:
        if self._sync is not None:
            self._sync.cancel()
        self._sync = self.tell_later(delay_s, self._CompareDue()) if delay_s else None

    def _receive_compare(self, compare: Compare) -> None:
        if not compare.reply_subject or self._packs_running >= PACK_ANSWERS_MAX:
            return
        self._packs_running += 1
        packed = partial(self._Packed, compare)
        self.run_blocking(pack_store, self._store, compare.digest, answer=packed)

    def _receive_packed(self, compare: Compare, outcome: object) -> None:
        self._packs_running -= 1
        if isinstance(outcome, BaseException):
            # Who asked waits, and asks again later.
            self._log.error("DirResolver - Pack request error", error=repr(outcome))
            return
        assert isinstance(outcome, list)
        self._publish([(compare.reply_subject, "", line) for line in [*outcome, b""]])


def pack_store(store: AccountDirectory, digest: bytes) -> Sequence[bytes]:
    """Return a line for each account in a directory; none when the asker has the same digest.

    Raises:
        OSError: A file cannot be read.
    """
    if store.digest() == digest:
        return []
    tokens = ((name, store.load(name)) for name in store.names())
    return [f"{name}|{token}".encode() for name, token in tokens if token]
