"""What a first query needs, loaded while something else is waited for.

Java takes a second to answer Python, which has nothing to do then; and Spark takes another to start
by one thread. What is loaded here takes no part in that: modules of Python, and Scala's and Java's
own libraries. Nothing of Spark is, whose classes may need each other while they begin. Whatever is
not there, or called otherwise, is loaded later by who needs it, as if there was nothing here.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

MODULES: Final = ("pyspark.sql", "pyspark.testing.utils")
"""The second, and with it pandas, PySpark imports at its first call of Java with an argument."""
_SOURCE: Final = "public static long next(long it) { return it + 1; }"
"""Of no use but to be compiled: so Janino is there, of which no archive of classes can have any."""


def import_modules() -> None:
    """Import what PySpark will."""
    for name in MODULES:
        with suppress(Exception):
            import_module(name)


def load_beside(jvm: Any) -> None:
    """Let a thread of Java load what it will need, beside those that start Spark.

    Args:
        jvm: Of PySpark's gateway.
    """
    threading.Thread(target=_load, args=(jvm,), name="preload", daemon=True).start()


def load(jvm: Any) -> None:
    """Load it in the thread of Java that serves this one."""
    # What a session has of MLlib asks for types by reflection: half a second for the first.
    jvm.scala.reflect.runtime.package.universe()
    jvm.org.codehaus.janino.ClassBodyEvaluator().cook(_SOURCE)


def _load(jvm: Any) -> None:
    with suppress(Exception):
        load(jvm)
