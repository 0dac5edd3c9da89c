"""What a first query needs, loaded while something else is waited for.

Java takes a second to answer Python, which has nothing to do then; and Spark takes another to start
by one thread. What is loaded here takes no part in that: modules of Python, and Scala's and Java's
own libraries. Nothing of Spark is, whose classes may need each other while they begin. Whatever is
not there, or called otherwise, is loaded later by who needs it, as if there was nothing here.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

MODULE: Final = "pyspark.testing.utils"
"""PySpark imports it, and with it pandas, at the first call of Java that has an argument."""
_SOURCE: Final = "public static long next(long it) { return it + 1; }"
"""Of no use but to be compiled: so Janino is there, of which no archive of classes can have any."""


def import_behind_fork() -> None:
    """Import what PySpark will, as soon as this process has started another one.

    Not before: who is started so is a copy of this process for a moment, with all that is held in
    the middle of an import.
    """
    waiting = [threading.Thread(target=_import, name="preload", daemon=True)]

    def start() -> None:
        if waiting:
            waiting.pop().start()

    os.register_at_fork(after_in_parent=start)


def _import() -> None:
    with suppress(Exception):
        import_module(MODULE)


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
