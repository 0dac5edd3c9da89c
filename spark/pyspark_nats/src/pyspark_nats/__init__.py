"""NATS streams as Spark tables: `spark.read.format("nats")`.

Spark imports every package whose name begins with `pyspark_` when a format is looked up first, and
takes its `DefaultSource`: so nothing is imported here before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark_nats.listener import JsonProgress
    from pyspark_nats.session import local_session, use_in_this_thread
    from pyspark_nats.source import NatsDataSource
    from pyspark_nats.source import NatsDataSource as DefaultSource

__all__ = [
    "DefaultSource",
    "JsonProgress",
    "NatsDataSource",
    "local_session",
    "use_in_this_thread",
]


def __getattr__(name: str) -> Any:
    """Return a public name, imported now.

    Raises:
        AttributeError: There is none of this name.
    """
    if name in {"DefaultSource", "NatsDataSource"}:
        from pyspark_nats.source import NatsDataSource  # noqa: PLC0415 - see the module

        return NatsDataSource
    if name == "JsonProgress":
        from pyspark_nats.listener import JsonProgress  # noqa: PLC0415 - as above

        return JsonProgress
    if name in {"local_session", "use_in_this_thread"}:
        from pyspark_nats import session  # noqa: PLC0415 - as above

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
