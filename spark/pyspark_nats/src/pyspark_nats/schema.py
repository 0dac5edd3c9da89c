"""The columns of a read: their names and types, in Spark and in Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyspark_nats.errors import OptionError
from pyspark_nats.options import COLUMNS, COLUMNS_DEFAULT

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
}
assert tuple(_TYPES) == COLUMNS


def columns_of(names: Sequence[str], *, include_headers: bool) -> tuple[str, ...]:
    """Return the columns of a read.

    Args:
        names: Of the option `columns`; none: the default ones.
        include_headers: Add `headers` to the default ones.
    """
    return tuple(names) or (*COLUMNS_DEFAULT, *(("headers",) if include_headers else ()))


def schema_of(columns: Sequence[str]) -> StructType:
    """Return the Spark schema of these columns, in this order."""
    return StructType([StructField(name, _TYPES[name]) for name in columns])


def check_schema(schema: StructType) -> tuple[str, ...]:
    """Return the columns that a user's schema asks for.

    Raises:
        OptionError: It has a column that messages do not have, or another type for one.
    """
    for field in schema.fields:
        if _TYPES.get(field.name) != field.dataType:
            wanted = ", ".join(f"{name} {it.simpleString()}" for name, it in _TYPES.items())
            problem = f"messages have no column `{field.name} {field.dataType.simpleString()}`"
            raise OptionError("schema", problem, wanted)
    return tuple(schema.fieldNames())
