"""The batch of messages that a sink gets."""

from framework.dataplane.ports._sinkbatch import Batch, SinkDrops

__all__ = ["Batch", "SinkDrops"]
