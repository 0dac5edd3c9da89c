"""Two Sparks for the tests of all that is here; what needs one is left out, with the reason."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark_nats.errors import NatsSourceError

from framework.testing import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

NEEDS_SPARK = "needs pyspark: ./dev test -e spark"
GROUPS = {
    **dict.fromkeys(("test_analytics.py", "test_streaming.py"), "streams"),
    **dict.fromkeys(
        (
            *("test_batch.py", "test_faults.py", "test_preload.py", "test_replicas.py"),
            *("test_sink.py", "test_views.py"),
        ),
        "batches",
    ),
}
"""Modules whose tests have a session: two times as much work as one does, with Java warm for it."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process of xdist whole modules, and those of a group one after the other.

    Its marks of groups are lost on the way (3.8): they are put into ids, which pytest 9.2 computes.
    """
    scheduler = import_module("xdist.scheduler").LoadScopeScheduling(config, log)
    scheduler._split_scope = _group_of  # noqa: SLF001 - what its own subclasses override
    return scheduler


def _group_of(nodeid: str) -> str:
    module = nodeid.partition("::")[0]
    return GROUPS.get(module.rpartition("/")[2], module)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that have a session; those of one process share it."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "session" in getattr(item, "fixturenames", ()):
            # Spark's own sockets and deprecations are not ours.
            item.add_marker(pytest.mark.filterwarnings("ignore"), append=False)
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="session")
def spark_settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return Spark's own settings for tests."""
    folder = tmp_path_factory.mktemp("spark")
    return {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.master": "local[2,2]",  # a task that fails is tried once more
        "spark.python.worker.reuse": "true",
        # What plans and compiles for minutes of data takes most of the time of a hundred rows.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        " -Darrow.enable_unsafe_memory_access=true",
        # A second Java for the clients of Spark Connect would take longer than all they do.
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(free_port()),
    }


@pytest.fixture(scope="session")
def session(spark_settings: dict[str, str]) -> Iterator[SparkSession]:
    """Start one Spark for all tests of a process: its start takes longer than any of them."""
    pytest.importorskip("pyspark", reason=NEEDS_SPARK)
    from pyspark_nats.session import local_session  # noqa: PLC0415 - needs Spark

    before = dict(os.environ)
    try:
        found = local_session(spark_settings, memory="512m")
    except NatsSourceError as error:
        pytest.skip(str(error))
    yield found
    found.stop()
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)
