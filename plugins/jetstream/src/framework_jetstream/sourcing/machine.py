"""When a stream asks for a consumer elsewhere, what it does with answers, and when it asks again.

Source: nats-server `stream.go`, `setupSourceConsumer`, `trySetupSourceConsumer`,
`scheduleSetupMirrorConsumerRetry`, `calculateRetryBackoff`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from framework_jetstream.api.errors import ApiError, ErrCode
from framework_jetstream.sourcing.consumer_request import (
    MIRROR_LEVEL,
    SOURCE_LEVEL,
    ConsumerAsked,
    ConsumerMade,
    Stored,
    create_request,
    reset_request,
)

if TYPE_CHECKING:
    import random

    from framework_jetstream.api.records import StreamSource
    from framework_jetstream.sourcing.consumer_request import Taker

RETRY_S: Final = 2.0
"""Between two requests at least."""
BACKOFF_S: Final = 5.0
BACKOFF_MAX_S: Final = 120.0
JITTER_S: Final = 0.1
ANSWER_S: Final = 30.0
RESET_S: Final = 5.0
_NAME_CHARS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NAME_LENGTH: Final = 8
_SECOND_NS: Final = 1_000_000_000
_TOO_NEW: Final = frozenset({ErrCode.REQUIRED_API_LEVEL, ErrCode.INVALID_JSON})
"""What a server says that is older than the request."""


class Wait(Struct, frozen=True):
    """Tell the machine when so much time has gone."""

    delay_s: float


class ReadStored(Struct, frozen=True):
    """Tell the machine how far the source is stored."""


class Ask(Struct, frozen=True):
    """Send a request, and tell the machine its answer, or that there is none."""

    request: ConsumerAsked
    answer_s: float


class Follow(Struct, frozen=True):
    """Take what a consumer delivers, and tell the machine if that is not possible."""

    consumer: ConsumerMade


Effect: TypeAlias = Wait | ReadStored | Ask | Follow


class SourceMachine:
    """Have a consumer for one source, again and again.

    Args:
        source: What is taken.
        taker: For whom.
        rng: Draws names, and spreads requests.
    """

    def __init__(self, source: StreamSource, taker: Taker, rng: random.Random) -> None:
        self._source = source
        self._taker = taker
        self._rng = rng
        self._stored = Stored(0, "", 0, 0, 0)
        self._asked_ns: int | None = None
        self._fails = 0
        self._level = 0
        self._deliver = ""
        self._is_recreated = False
        self.error: ApiError | None = None
        """Why there is no consumer."""

    def begin(self, now_ns: int) -> Effect:
        """Ask as soon as that is allowed: now, or after a consumer was lost."""
        since_s = BACKOFF_MAX_S
        if self._asked_ns is not None:
            since_s = (now_ns - self._asked_ns) / _SECOND_NS
        delay_s = max(RETRY_S - since_s, 0.0) + min(self._fails * 2 * BACKOFF_S, BACKOFF_MAX_S)
        return Wait(delay_s + JITTER_S + self._rng.random() * JITTER_S)

    def receive_due(self) -> Effect:
        """Take up that the time has come."""
        return ReadStored()

    def receive_stored(self, stored: Stored, now_ns: int) -> Effect:
        """Take up how far the source is stored."""
        if self._is_recreated:
            stored = Stored(0, "", stored.messages, 0, stored.last_ns)
        self._stored = stored
        self._asked_ns = now_ns
        self._level = MIRROR_LEVEL if self._taker.is_mirror else SOURCE_LEVEL
        self._deliver = self._new_deliver()
        self.error = None
        return self._ask()

    def _ask(self) -> Effect:
        if self._source.consumer is not None:
            return Ask(reset_request(self._source, level=self._level), RESET_S)
        taker = self._taker
        if not self._level:
            taker = replace(taker, consumer=f"{taker.consumer}_{self._new_name()}")
        request = create_request(
            self._source, taker, self._stored, self._deliver, level=self._level
        )
        return Ask(request, ANSWER_S)

    def receive_answer(self, made: ConsumerMade, now_ns: int) -> Effect:
        """Take up what came back."""
        error = made.error
        if error is None:
            self._fails = 0
            self._is_recreated = False
            return Follow(self._placed(made))
        if error.err_code == ErrCode.CONSUMER_IDENTITY_MISMATCH:
            self._is_recreated = True
            return self.begin(now_ns)
        if error.err_code in _TOO_NEW and self._level and self._source.consumer is None:
            self._level = self._level - 1 if self._level > MIRROR_LEVEL else 0
            return self._ask()
        self.error = error
        return self.receive_silence(now_ns)

    def receive_silence(self, now_ns: int) -> Effect:
        """Take up that nobody answers, or that a consumer can't be followed."""
        self._fails += 1
        return self.begin(now_ns)

    def _placed(self, made: ConsumerMade) -> ConsumerMade:
        """Return where the messages are to be expected."""
        deliver = made.deliver or self._deliver
        if self._source.consumer is not None:
            deliver = self._source.consumer.deliver_subject
        return ConsumerMade(made.name, deliver, made.passed_seq, made.ident)

    def _new_name(self) -> str:
        return "".join(self._rng.choices(_NAME_CHARS, k=_NAME_LENGTH))

    def _new_deliver(self) -> str:
        letter = "M" if self._taker.is_mirror else "S"
        external = self._source.external
        prefix = external.deliver if external is not None and external.deliver else "$JS"
        return f"{prefix}.{letter}.{self._new_name()}".replace("..", ".")
