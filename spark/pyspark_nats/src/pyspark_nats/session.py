"""A Spark on this machine, with what it trips over out of the way."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from pyspark_nats.class_archive import archive_options
from pyspark_nats.java import find_java
from pyspark_nats.java_process import JavaProcess, has_java
from pyspark_nats.preload import import_modules, load_beside
from pyspark_nats.worker_python import worker_python
from pyspark_nats.worker_sockets import socket_settings, start_fork_server

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_JAVA_OPTIONS = (
    "-XX:+UseSerialGC -Darrow.enable_unsafe_memory_access=true -XX:Tier4InvocationThreshold=50000 "
    "-XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 "
    "-XX:Tier4BackEdgeThreshold=400000"
)
"""The collector that costs a small heap the least; no look at the bounds of columns for each value,
of batches that Python has validated; and the second compiler, which had a third of the processor
time of a start, begins ten times later. What is done for each row gets there all the same: without
that compiler Spark reads half as many rows a second."""
_JAVA_OPTIONS_OF = "spark.driver.extraJavaOptions"
_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.python.filterPushdown.enabled": "true",
    # What may hold a secret and has not a name that Spark takes for one.
    "spark.sql.redaction.options.regex": "(?i)url|servers|credentials|nkey",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def use_in_this_thread(session: SparkSession) -> None:
    """Let the calling thread write by sources that are Python, as `format("nats")` is.

    A session belongs to the thread that made it. Others read by it all the same; but to write,
    Spark looks for such sources in the session of the thread, and finds none (4.3: "Failed to find
    the data source"). With Spark Connect there is nothing to do.

    Args:
        session: Of another thread.
    """
    java: Any = getattr(session, "_jvm", None)
    if java is not None:
        java.org.apache.spark.sql.classic.SparkSession.setActiveSession(
            session._jsparkSession  # noqa: SLF001 - there is no other way
        )


def local_session(
    settings: Mapping[str, str] | None = None, *, cores: int = 2, memory: str = "1g"
) -> SparkSession:
    """Return a session that listens on loopback alone; `stop()` ends it.

    Args:
        settings: Spark's own, before those of here.
        cores: Tasks at once.
        memory: Heap of the one Java process, as Spark writes it.

    Raises:
        NatsSourceError: There is no Java for Spark.
    """
    java = find_java()
    if java.home is not None:
        os.environ["JAVA_HOME"] = str(java.home)
    python = worker_python()
    os.environ["PYSPARK_PYTHON"] = python  # or workers take the system's python
    if python != sys.executable:
        start_fork_server()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    options = {
        **_SETTINGS,
        # With PySpark's own daemon workers would show errors when a session ends.
        **(socket_settings() if python != sys.executable else {}),
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": memory,
        _JAVA_OPTIONS_OF: _JAVA_OPTIONS,
        **(settings or {}),
    }
    options[_JAVA_OPTIONS_OF] += f" {archive_options(java)}"
    java_process = None if has_java() else JavaProcess(options)
    import_modules()
    from pyspark import SparkContext  # noqa: PLC0415 - after Java was started
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    if java_process is not None:
        java_process.join()
        load_beside(SparkContext._jvm)  # noqa: SLF001 - there is no session yet
    session = SparkSession.builder.config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
