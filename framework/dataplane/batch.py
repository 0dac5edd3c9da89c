"""The batch of messages that a sink gets, and its columns."""

from framework.dataplane.batch_columns import BatchColumns, TextColumn
from framework.dataplane.ports._batchcolumns import (
    columns_of,
    filled_bits,
    gathered_numbers,
    gathered_texts,
)
from framework.dataplane.ports._sinkbatch import Batch, SinkDrops

__all__ = [
    "Batch",
    "BatchColumns",
    "SinkDrops",
    "TextColumn",
    "columns_of",
    "filled_bits",
    "gathered_numbers",
    "gathered_texts",
]
