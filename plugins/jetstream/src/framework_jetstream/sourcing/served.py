"""Consumers that streams elsewhere make here for themselves.

Source: nats-server `jetstream_api.go`, `jsConsumerCreateRequest`; `stream.go`, `identity`.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.sourcing.names import short_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_jetstream.api.records import ConsumerConfig, StreamConfig

IDENTITY_HEADER: Final = "Nats-Stream-Identity"


def settle_sourcing(config: ConsumerConfig, stream: StreamConfig) -> None:
    """Give a sourcing consumer a name of its own; where what is acknowledged goes, let it do so.

    Args:
        config: As it was asked for; it is changed.
        stream: Of the stream.
    """
    if not (config.direct and config.sourcing and config.name):
        return
    if stream.retention == "limits":
        config.name = f"{config.name}-{short_hash(secrets.token_hex())}"
        return
    config.direct = False
    config.durable_name = config.name
    config.ack_policy = "flow_control"
    config.ack_wait = config.max_deliver = config.inactive_threshold = 0


def follow_known(config: ConsumerConfig, known: ConsumerConfig) -> None:
    """Let a sourcing consumer that is there already go on where it stands."""
    if config.sourcing and config.durable_name:
        config.deliver_policy = known.deliver_policy
        config.opt_start_seq = known.opt_start_seq
        config.opt_start_time = known.opt_start_time


def identity(created_ns: int) -> str:
    """Return what tells a stream from one of the same name that was before it."""
    return short_hash(text_from_ns(created_ns))


def check_identity(headers: Mapping[str, tuple[str, ...]], created_ns: int) -> None:
    """Raise ApiFailure where a request is about a stream that was here before this one."""
    for wanted in headers.get(IDENTITY_HEADER, ())[:1]:
        if wanted and wanted != identity(created_ns):
            raise failure(ErrCode.CONSUMER_IDENTITY_MISMATCH, msg=identity(created_ns))
