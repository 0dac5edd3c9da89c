"""The batch of messages that a sink gets."""

from framework.dataplane._sinkbatch import Batch, SinkDrops

__all__ = ["Batch", "SinkDrops"]
