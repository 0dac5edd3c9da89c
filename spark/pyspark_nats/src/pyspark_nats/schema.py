"""The columns of a read: their names and types, in Spark and in Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyspark_nats.errors import OptionError
from pyspark_nats.options import VIEW_COLUMNS
from pyspark_nats.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Sequence

_TYPES: dict[str, DataType] = {
    "stream": StringType(),
    "subject": StringType(),
    "sequence": LongType(),
    "timestamp": TimestampType(),
    "timestamp_ns": LongType(),
    "data": BinaryType(),
    "size": IntegerType(),
    "headers": MapType(StringType(), ArrayType(StringType())),
    "server": StringType(),
    "account": StringType(),
    "reply": StringType(),
    "cid": LongType(),
    "client": StringType(),
    "user": StringType(),
    "host": StringType(),
    "request_subject": StringType(),
    "latency_ns": LongType(),
    "dropped": LongType(),
}
_NAMED: dict[str, DataType] = {
    "string": StringType(),
    "bigint": LongType(),
    "int": IntegerType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "timestamp": TimestampType(),
}


def _types(view: str) -> dict[str, DataType]:
    """Return the type of each column of a view."""
    if view not in VIEWS:
        return {name: _TYPES[name] for name in VIEW_COLUMNS[view][0]}
    types = {name: _NAMED[kind] for name, (kind, _) in VIEWS[view].columns.items()}
    return {name: types.get(name, _TYPES["timestamp"]) for name in VIEW_COLUMNS[view][0]}


def columns_of(view: str, names: Sequence[str], *, include_headers: bool) -> tuple[str, ...]:
    """Return the columns of a read.

    Args:
        view: What rows are.
        names: Of the option `columns`; none: the default ones.
        include_headers: Add `headers` to the default ones.
    """
    return tuple(names) or (*VIEW_COLUMNS[view][1], *(("headers",) if include_headers else ()))


def schema_of(view: str, columns: Sequence[str]) -> StructType:
    """Return the Spark schema of these columns of a view, in this order."""
    types = _types(view)
    return StructType([StructField(name, types[name]) for name in columns])


def check_schema(view: str, schema: StructType) -> tuple[str, ...]:
    """Return the columns that a user's schema asks for.

    Args:
        view: What rows are.
        schema: Of the user.

    Raises:
        OptionError: It has a column that such rows do not have, or another type for one.
    """
    types = _types(view)
    for field in schema.fields:
        if types.get(field.name) != field.dataType:
            wanted = ", ".join(f"{name} {it.simpleString()}" for name, it in types.items())
            problem = f"{view} have no column `{field.name} {field.dataType.simpleString()}`"
            raise OptionError("schema", problem, wanted)
    return tuple(schema.fieldNames())
