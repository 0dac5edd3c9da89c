"""What a consumer of a cluster is asked to be: its configuration, as the meta leader decides it.

Source: nats-server `jetstream_cluster.go`, `jsClusteredConsumerRequest`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import ConsumerConfig, StreamConfig
from framework_jetstream.consumer.bounds import bounds_of, consumers_max
from framework_jetstream.consumer.consumer_requests import wanted_consumer
from framework_jetstream.consumer.rules import (
    check_new,
    check_partition,
    check_update,
    settle_ending,
    settle_metadata,
)
from framework_jetstream.sourcing.served import follow_known, settle_sourcing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import JetStreamLimits
    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.config import JetStreamConfig
    from framework_jetstream.meta.assignments import ConsumerAssignment, StreamAssignment

_STREAMS_KNOWN: Final = 1024
"""Configurations that need not be read again."""


def following(stream: StreamAssignment, consumer: ConsumerAssignment) -> ConsumerAssignment:
    """Return a consumer with as many replicas as it may have, now that its stream is another one.

    It has no more than its stream, and as many where the stream keeps what consumers want.

    Source: nats-server `jetstream_cluster.go`, `remapConsumerAssignments`, `targetReplicas`.
    """
    replicas, is_limits = _replicas_of_stream(stream.config)
    if consumer.replicas == replicas or (is_limits and consumer.replicas < replicas):
        return consumer
    config = msgspec.json.decode(consumer.config, type=ConsumerConfig)
    if not config.num_replicas:
        return consumer
    config.num_replicas = replicas
    text = msgspec.json.encode(config)
    return msgspec.structs.replace(consumer, config=text, replicas=replicas)


@lru_cache(_STREAMS_KNOWN)
def _replicas_of_stream(config: bytes) -> tuple[int, bool]:
    """Return how many replicas a stream has, and whether nothing but its limits removes anything.

    Args:
        config: As of its assignment.
    """
    read = msgspec.json.decode(config, type=StreamConfig)
    return max(read.num_replicas, 1), read.retention == "limits"


class ConsumerChanges:
    """Reads requests for consumers of one stream.

    Args:
        host_config: Of the server.
        stream: Of the stream.
        limits: Of its account, for streams like this one.
        is_strict: Fields that nobody knows are errors.
    """

    def __init__(
        self,
        host_config: JetStreamConfig,
        stream: StreamConfig,
        *,
        limits: JetStreamLimits,
        is_strict: bool,
    ) -> None:
        self._stream = stream
        self._consumers_max = consumers_max(stream, host_config.limits, limits)
        self._is_strict = is_strict
        self._bounds = bounds_of(host_config.limits, limits)

    def wanted(
        self, payload: bytes, found: ApiSubject, known: Mapping[str, ConsumerConfig]
    ) -> ConsumerConfig:
        """Return the configuration that a consumer is to have: one of those known, or a new one.

        Args:
            payload: Of the request.
            found: Its subject.
            known: Consumers of the stream, by name.

        Raises:
            ApiFailure: It makes no sense, or can't be beside the others.
        """
        config, action = wanted_consumer(
            payload,
            found.rest,
            self._stream,
            is_durable=found.is_durable,
            is_strict=self._is_strict,
            is_clustered=True,
            bounds=self._bounds,
            settle=settle_sourcing,
        )
        before = known.get(config.name)
        others = [it for name, it in known.items() if name != config.name]
        if before is None:
            if action == "update":
                raise failure(ErrCode.CONSUMER_DOES_NOT_EXIST)
            check_new(config, self._stream, others, self._consumers_max)
            settle_ending(config)
        else:
            self._follow(config, before, others, action)
        return config

    def _follow(
        self,
        config: ConsumerConfig,
        before: ConsumerConfig,
        others: list[ConsumerConfig],
        action: str,
    ) -> None:
        """Let a configuration be one of a consumer that is there."""
        follow_known(config, before)
        # Only a request of its own changes a pause.
        config.pause_until = before.pause_until
        settle_metadata(config)
        settle_ending(config)
        if action == "create" and config != before:
            raise failure(ErrCode.CONSUMER_ALREADY_EXISTS)
        check_partition(config, self._stream, others)
        check_update(before, config, has_interest=False)
