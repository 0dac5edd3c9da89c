"""What streams and consumers of a cluster can't be yet: refused, with the real server's words.

Each of these is to go when what it needs is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import ConsumerConfig
from framework_jetstream.storage.records import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework_jetstream.api.records import StreamConfig
    from framework_jetstream.meta.assignments import ConsumerAssignment


def check_stream_shared(config: StreamConfig) -> None:
    """Raise ApiFailure where a stream can't be had in a cluster.

    Args:
        config: Makes sense by itself.
    """
    if kind_of(config.metadata):
        raise failure(ErrCode.CLUSTER_UNSUPPORTED_FEATURE)


def check_can_be_shared(info: Mapping[str, Any], consumers: Iterable[ConsumerAssignment]) -> None:
    """Raise ApiFailure where a stream of one server can't be had by others too.

    Args:
        info: As its leader says how it is.
        consumers: Of the stream.
    """
    config = info.get("config") or {}
    replicas = config.get("num_replicas", 1)
    if replicas == 1 and config.get("storage") == "memory":
        raise failure(ErrCode.CLUSTER_UNSUPPORTED_FEATURE)
    for it in consumers:
        if msgspec.json.decode(it.config, type=ConsumerConfig).mem_storage:
            raise failure(ErrCode.CLUSTER_UNSUPPORTED_FEATURE)
