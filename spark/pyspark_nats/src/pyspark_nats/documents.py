"""JSON documents to columns: what monitoring and JetStream say, and events in streams."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark_nats.rows import Rows
    from pyspark_nats.views import View

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_NS_PER_US = 1000


def value_at(document: Any, way: str) -> Any:
    """Return what lies on a way such as `state.messages`; None where it ends early."""
    for key in way.split("."):
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def rows_at(answer: dict[str, Any], way: str) -> list[dict[str, Any]]:
    """Return the rows of an answer, each with the `server` that gave it."""
    if not way:
        return [answer]
    found = value_at(answer, way) or []
    # A row's own `server` would hide whose it is; no view has such a row.
    return [{**row, "server": answer.get("server")} for row in found if isinstance(row, dict)]


def typed(value: Any, kind: pa.DataType) -> Any:
    """Return a value of a document as Arrow takes it; None: it is not of this type."""
    if pa.types.is_timestamp(kind):
        return _moment(value)
    if pa.types.is_string(kind):
        return value if isinstance(value, str) or value is None else json.dumps(value)
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number:
        return None
    if pa.types.is_floating(kind):
        return float(value)
    return int(value) if -(1 << kind.bit_width - 1) <= value < 1 << kind.bit_width - 1 else None


def _moment(value: Any) -> datetime | None:
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    day, time, fraction, zone = found.groups()
    text = f"{day}T{time}{(fraction or '.0')[:7]}{zone.replace('Z', '+00:00')}"
    moment = datetime.fromisoformat(text).astimezone(UTC)
    # Go's zero time: it never was.
    return moment if moment.year > 1 else None


def columns_of(
    view: View, documents: Iterable[dict[str, Any]], schema: pa.Schema, known: dict[str, Any]
) -> pa.RecordBatch:
    """Return documents as one batch.

    Args:
        view: Where columns are.
        documents: Rows.
        schema: Columns that are wanted.
        known: Columns whose values are known otherwise, the same for all rows.
    """
    given = list(documents)
    arrays = []
    for field in schema:
        if field.name in known:
            values = [known[field.name]] * len(given)
        elif field.name == "json":
            values = [json.dumps(each) for each in given]
        else:
            way = view.columns[field.name][1]
            values = [typed(value_at(each, way), field.type) for each in given]
        arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class EventMaker:
    """Makes Arrow batches of messages that are JSON; what is none has nulls beside its text.

    Args:
        stream: For the column of that name.
        view: Where columns are.
        schema: Columns that are wanted.
        batch_rows: Rows of a batch, at most.
    """

    def __init__(self, stream: str, view: View, schema: pa.Schema, batch_rows: int) -> None:
        self._stream = stream
        self._view = view
        self._schema = schema
        self._batch_rows = batch_rows

    def batches(self, parts: Iterable[Rows]) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        for rows in parts:
            for at in range(0, len(rows.sequence), self._batch_rows):
                yield self._batch(rows.cut(at, at + self._batch_rows))

    def _batch(self, rows: Rows) -> pa.RecordBatch:
        texts = [each.decode("utf-8", "replace") for each in rows.data.to_pylist()]
        documents = [_document(text) for text in texts]
        arrays = []
        for field in self._schema:
            match field.name:
                case "stream":
                    array = pa.repeat(pa.scalar(self._stream, field.type), len(texts))
                case "sequence":
                    array = rows.sequence
                case "timestamp":
                    array = pc.divide(rows.timestamp_ns, _NS_PER_US).cast(field.type)
                case "subject":
                    array = rows.subject.cast(field.type)
                case "json":
                    array = pa.array(texts, field.type)
                case name:
                    way = self._view.columns[name][1]
                    values = [typed(value_at(each, way), field.type) for each in documents]
                    array = pa.array(values, field.type)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
