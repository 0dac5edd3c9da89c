"""What streams and consumers of a cluster can't be yet: refused, with the real server's words.

Each of these is to go when what it needs is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.storage.records import kind_of

if TYPE_CHECKING:
    from framework_jetstream.api.records import StreamConfig


def check_stream_shared(config: StreamConfig) -> None:
    """Raise ApiFailure where a stream can't be had in a cluster.

    Args:
        config: Makes sense by itself.
    """
    if kind_of(config.metadata):
        raise failure(ErrCode.CLUSTER_UNSUPPORTED_FEATURE)
