"""What Spark starts as the Python of its workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
worker = pytest.importorskip("pyspark_nats.worker_python")

HOME = str(Path(pyspark.__file__).parent)
SPARK = f"{HOME}/python/lib/pyspark.zip"
PY4J = f"{HOME}/python/lib/py4j-0.1-src.zip"
SHOWN = "import os, sys; print(os.environ['PYTHONPATH']); print(*sys.argv[1:], sep='|')"


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Return an environment that has nothing yet, in a folder whose name is no plain word."""
    prefix = tmp_path / "it's an environment"
    prefix.mkdir()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setenv("SPARK_HOME", "")
    monkeypatch.delenv("SPARK_HOME")
    return prefix


def shown(python, path):
    words = [python, "-c", SHOWN, "a b", "*"]
    environ = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        words, check=True, capture_output=True, text=True, env=environ
    ).stdout.splitlines()


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("", ""),
        ("/some where/*:/b", "/some where/*:/b"),
        (SPARK, ""),
        (f"/a:{SPARK}:{PY4J}:/b.jar:/a:{SPARK}", "/a:/b.jar:/a"),
        ("/other/python/lib/pyspark.zip", "/other/python/lib/pyspark.zip"),
    ],
)
def test_archives_of_the_installed_spark_are_left_out(prefix, path, left):
    python = worker.worker_python()

    assert prefix in Path(python).parents
    assert os.environ["SPARK_HOME"] == HOME
    assert shown(python, path) == [left, "a b|*"]


def test_its_version_is_said_without_a_start(prefix, monkeypatch):
    asked = [worker.worker_python(), "-c", worker.VERSION_ASKED]
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    monkeypatch.setattr(sys, "executable", "/not/there")
    asked[0] = worker.worker_python()

    assert "{}.{}\n".format(*sys.version_info) == said
    assert said == subprocess.run(asked, check=True, capture_output=True, text=True).stdout


def test_daemons_are_ours_and_other_modules_what_they_are(prefix, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    monkeypatch.delenv(worker.FORK_SOCKET, raising=False)
    python = worker.worker_python()

    def started(*words):
        words = [python, "-m", *words]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    assert started("pyspark.daemon", "pyspark.worker") == f"-m {worker.DAEMON} pyspark.worker\n"
    assert started("pyspark.worker", "a b") == "-m pyspark.worker a b\n"


@pytest.mark.parametrize(
    ("asked", "module"),
    [("pyspark.daemon", worker.DAEMON), ("pyspark.sql.worker.x", "pyspark.sql.worker.x")],
)
def test_modules_are_asked_for_where_they_are_forked(prefix, monkeypatch, tmp_path, asked, module):
    path = tmp_path / "a socket"
    monkeypatch.setattr(sys, "executable", "/bin/echo")
    monkeypatch.setenv(worker.FORK_SOCKET, str(path))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        words = [worker.worker_python(), "-m", asked, "pyspark.worker"]
        done = subprocess.run(words, check=True, capture_output=True, text=True)

    client = worker.worker_fork_client.__file__
    assert done.stdout == f"-I -S {client} {path} {module} pyspark.worker\n"


def test_another_spark_keeps_its_archives(prefix, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")

    assert worker.worker_python() == sys.executable


def test_an_environment_that_nothing_can_be_put_into(prefix, monkeypatch):
    monkeypatch.setattr(worker, "has_place", lambda: False)

    assert worker.worker_python() == sys.executable


def test_workers_import_the_installed_spark(session):
    def files(_):
        yield import_module("pyspark").__file__, import_module("py4j").__file__

    found = session.sparkContext.parallelize([1], 1).mapPartitions(files).collect()

    assert [it.startswith(HOME) and ".zip" not in it for it, _ in found] == [True]
    assert ".zip" not in found[0][1]
