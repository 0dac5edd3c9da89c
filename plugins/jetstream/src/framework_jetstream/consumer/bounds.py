"""What the server and the account allow a consumer, beside its stream.

Source: nats-server `consumer.go`, `setConsumerConfigDefaults`, `checkConsumerCfg`,
`addConsumerWithAssignment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.pedantic import NEVER_NEGATIVE
from framework_jetstream.consumer.rules import MAX_ACK_PENDING

if TYPE_CHECKING:
    from framework.spec import JetStreamLimits
    from framework_jetstream.api.records import ConsumerConfig, StreamConfig
    from framework_jetstream.config import ServerLimits


class ConsumerBounds(Struct, frozen=True, kw_only=True):
    """What a consumer may have at most; below 1: any number."""

    max_ack_pending: int = 0
    max_request_batch: int = 0

    def fill_in(self, config: ConsumerConfig, stream: StreamConfig) -> None:
        """Set what a configuration leaves to the server, where this is less than the default."""
        for name in NEVER_NEGATIVE:
            setattr(config, name, max(getattr(config, name), 0))
        leaves = not config.max_ack_pending and not stream.consumer_limits.max_ack_pending
        if leaves and config.ack_policy != "none" and 0 < self.max_ack_pending < MAX_ACK_PENDING:
            config.max_ack_pending = self.max_ack_pending
        if not config.deliver_subject and not config.max_batch and self.max_request_batch > 0:
            config.max_batch = self.max_request_batch

    def check(self, config: ConsumerConfig) -> None:
        """Raise ApiFailure for a consumer that wants more."""
        if not config.deliver_subject and 0 < self.max_request_batch < config.max_batch:
            limit = self.max_request_batch
            raise failure(ErrCode.CONSUMER_MAX_REQUEST_BATCH_EXCEEDED, limit=limit)
        if 0 < self.max_ack_pending < config.max_ack_pending:
            limit = self.max_ack_pending
            raise failure(ErrCode.CONSUMER_MAX_ACK_PENDING_EXCESS, limit=limit)


def bounds_of(server: ServerLimits, account: JetStreamLimits) -> ConsumerBounds:
    """Return what a consumer may have at most by a server and an account."""
    known = [it for it in (server.max_ack_pending, account.max_ack_pending) if it > 0]
    return ConsumerBounds(
        max_ack_pending=min(known, default=0), max_request_batch=server.max_request_batch
    )


def consumers_max(stream: StreamConfig, server: ServerLimits, account: JetStreamLimits) -> int:
    """Return how many consumers a stream may have; below 1: any number."""
    known = [it for it in (stream.max_consumers, account.max_consumers) if it > 0]
    return min(known, default=0) or server.default_max_consumers
