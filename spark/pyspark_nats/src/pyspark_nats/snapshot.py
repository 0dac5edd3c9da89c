"""What is now: the servers, their connections, the streams and consumers of an account."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from pyspark_nats.connection import Connection
from pyspark_nats.documents import columns_of, rows_at
from pyspark_nats.errors import ApiError, NatsSourceError
from pyspark_nats.jetstream import CONSUMER_NOT_FOUND, STREAM_NOT_FOUND, JetStream
from pyspark_nats.options import Streams
from pyspark_nats.plan import stream_states
from pyspark_nats.views import OBSERVED, VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pyspark_nats.options import ReadOptions
    from pyspark_nats.views import View

QUIET_S = 0.5
"""Silence after which no more servers are waited for."""


@dataclass
class Moment(InputPartition):
    """The one part of a snapshot."""

    number: int


class Snapshots:
    """Asks for a view, and makes a batch of the answers.

    Args:
        options: Checked.
        schema: Of Spark, the columns that are wanted.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def read(self) -> Iterator[pa.RecordBatch]:
        """Yield what is now; in a task."""
        options = self._options
        view = VIEWS[options.view]
        schema = to_arrow_schema(self._schema, timezone="UTC")
        with contextlib.closing(Connection(options.target)) as connection:
            observed = datetime.now(UTC)
            if view.is_of_servers:
                found = self._of_servers(connection, view)
            else:
                found = self._of_account(JetStream(connection, options.domain), view)
            yield columns_of(view, found, schema, {OBSERVED: observed})

    def _of_servers(self, connection: Connection, view: View) -> list[dict[str, Any]]:
        timeout_s = self._options.target.request_timeout_s
        body = json.loads(view.body or "{}")
        found: list[dict[str, Any]] = []
        offset, is_more = 0, True
        while is_more:
            asked = json.dumps({**body, "offset": offset} if offset else body)
            answers = connection.ask_all(view.request, asked.encode(), timeout_s, QUIET_S)
            if not answers:
                raise NatsSourceError(
                    f"view {self._options.view!r}: no server answers {view.request}; "
                    "only users of the system account may ask it"
                )
            found += [row for answer in answers for row in rows_at(answer, view.rows)]
            # Of the pages of CONNZ each server has its own number.
            limit = body.get("limit", 0)
            offset += limit
            totals = [answer.get("data", {}).get("total", 0) for answer in answers]
            is_more = bool(limit) and max(totals) > offset
        return found

    def _of_account(self, api: JetStream, view: View) -> list[dict[str, Any]]:
        if "{stream}" not in view.request:
            return api.pages(view.request, view.rows)
        found: list[dict[str, Any]] = []
        streams = self._options.streams
        is_of_some = streams != Streams()
        names = list(stream_states(api, streams)) if is_of_some else api.stream_names()
        for name in names:
            try:
                found += api.pages(view.request.format(stream=name), view.rows)
            except ApiError as error:
                if error.err_code not in {STREAM_NOT_FOUND, CONSUMER_NOT_FOUND}:
                    raise
        return found


class SnapshotReader(DataSourceReader):
    """Reads a view as it is when the query runs."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._snapshots = Snapshots(options, schema)

    def partitions(self) -> list[InputPartition]:
        """Return the one part."""
        return [Moment(0)]

    def read(self, _: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return self._snapshots.read()


class SnapshotStreamReader(DataSourceStreamReader):
    """Reads a view again for each batch: what a batch was like can't be asked again later."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._snapshots = Snapshots(options, schema)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return what is before the first batch."""
        return {"v": 1, "ms": 0}

    def latestOffset(self, *_: Any) -> dict[str, Any]:  # noqa: N802 - as above
        """Return now: every trigger has a batch."""
        return {"v": 1, "ms": time.time_ns() // 1_000_000}

    def partitions(self, _: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the one part of a batch."""
        return [Moment(int(end["ms"]))]

    def read(self, _: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        return self._snapshots.read()
