"""What the engine is told of how much a server and its accounts may store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework_jetstream.api.account_hash import hash_of_account
from framework_jetstream.api.errors import ApiFailure
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.stream.account_limits import limits_for

if TYPE_CHECKING:
    from framework.actors import ActorRef
    from framework_jetstream.engine.link import EngineLink
    from framework_jetstream.host import Host

_BATCH_MESSAGES_MAX: Final = 1000
_STREAM_BATCHES_MAX: Final = 50
_BATCHES_MAX: Final = 1000
_BATCH_TIMEOUT_NS: Final = 10_000_000_000
_STREAM_FAST_BATCHES_MAX: Final = 1000
_FAST_BATCHES_MAX: Final = 50_000


class EngineLimits:
    """Tells the engine limits when they have changed.

    Source: nats-server `stream.go`, defaults of `streamMaxAtomicBatch…`; `jetstream.go`,
    `wouldExceedLimits`.

    Args:
        link: The way to the engine.
        host: Has the limits.
        owner: Whose turn its answers come in.
    """

    def __init__(self, link: EngineLink, host: Host, owner: ActorRef[Any]) -> None:
        self._link = link
        self._host = host
        self._owner = owner
        self._told: dict[str, tuple[int, int]] = {}
        self._told_of_server: tuple[int, ...] = ()

    def follow_server(self) -> None:
        """Tell what the server may store, and what its batches may be."""
        config = self._host.config
        limits = config.limits
        wanted = (
            config.max_memory,
            config.max_file,
            limits.max_batch_size or _BATCH_MESSAGES_MAX,
            limits.max_batch_inflight_per_stream or _STREAM_BATCHES_MAX,
            limits.max_batch_inflight_total or _BATCHES_MAX,
            limits.max_batch_timeout or _BATCH_TIMEOUT_NS,
            limits.max_batch_inflight_per_stream or _STREAM_FAST_BATCHES_MAX,
            limits.max_batch_inflight_total or _FAST_BATCHES_MAX,
            config.has_scoped_acks,
        )
        if wanted != self._told_of_server:
            self._told_of_server = wanted
            self._ask(Verb.LIMIT_SERVER, 0, wanted)

    def follow(self, account: str) -> None:
        """Tell what an account may store in streams of one replica."""
        try:
            limits = limits_for(self._host.limits(account) or {}, 1)
            wanted = limits.max_memory, limits.max_storage
        except ApiFailure:
            wanted = 0, 0
        if wanted != self._told.get(account):
            self._told[account] = wanted
            number, name = self._host.account_number(account), hash_of_account(account)
            self._ask(Verb.LIMIT_ACCOUNT, number, wanted, name)

    def follow_all(self) -> None:
        """Tell all that has changed."""
        self.follow_server()
        for account in self._told:
            self.follow(account)

    def _ask(self, verb: Verb, number: int, numbers: tuple[int, ...], first: bytes = b"") -> None:
        then = lambda _: None  # noqa: E731 - nobody waits for it
        self._link.ask(self._owner, verb, number, numbers=numbers, first=first, then=then)
