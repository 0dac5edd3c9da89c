"""What streams and consumers of a cluster can't be yet: refused, with the real server's words.

Each of these is to go when what it needs is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import ConsumerConfig
from framework_jetstream.storage.records import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework_jetstream.api.records import StreamConfig
    from framework_jetstream.meta.assignments import ConsumerAssignment

SHARED_BYTES_MAX: Final = 1 << 24
"""Of a stream that gets its second replica, as `engine/_sharing.pyx` has it."""


def check_stream_shared(config: StreamConfig) -> None:
    """Raise ApiFailure where a stream can't be had in a cluster.

    Args:
        config: Makes sense by itself.
    """
    has_replicas = config.num_replicas > 1
    if kind_of(config.metadata) or (has_replicas and config.retention != "limits"):
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
    stored = (info.get("state") or {}).get("bytes", 0)
    if replicas == 1 and stored > SHARED_BYTES_MAX:
        raise failure(
            ErrCode.GENERIC,
            err=f"a stream of {stored} bytes and one replica can't get more replicas yet: at most"
            f" {SHARED_BYTES_MAX} bytes can",
        )
    for it in consumers:
        if msgspec.json.decode(it.config, type=ConsumerConfig).mem_storage:
            raise failure(ErrCode.CLUSTER_UNSUPPORTED_FEATURE)
