"""Spark's process of Java, started before PySpark is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark_nats.errors import NatsSourceError

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
java_process = pytest.importorskip("pyspark_nats.java_process")

SAYS = """#!/bin/sh
printf '%s\\n' "$@" "$SPARK_CONNECT_MODE" >"$SHOWN"
exit 3
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return Spark's home, whose `spark-submit` shows its words and ends with 3."""
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(SAYS)
    program.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("SHOWN", f"{tmp_path}/shown")
    return tmp_path


@pytest.mark.parametrize(
    ("own", "last"),
    [(None, ["pyspark-shell"]), ("--jars 'a b.jar' pyspark-shell", ["--jars", "a b.jar"])],
)
def test_a_java_that_ends_is_an_error_and_had_the_words(home, monkeypatch, own, last):
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    if own:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", own)
    started = java_process.JavaProcess({"spark.a": "b c", "spark.d": ""})

    with pytest.raises(NatsSourceError, match="ended with 3"):
        started.join()

    shown = (home / "shown").read_text().splitlines()
    assert shown[:4] == ["--conf", "spark.a=b c", "--conf", "spark.d="]
    assert shown[4 : 4 + len(last)] == last
    assert shown[-2:] == ["pyspark-shell", "0"]


def test_what_java_says_is_a_port_and_a_secret():
    assert java_process._read(b"\0\0\x12\x34\0\0\0\x02abrest") == (0x1234, "ab")


def test_who_was_started_by_spark_submit_has_a_java(monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")

    assert java_process.has_java()


def test_who_has_imported_pyspark_alone_has_none():
    code = "import pyspark; from pyspark_nats.java_process import has_java; print(has_java())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout == "False\n"


def test_who_has_had_a_session_has_one(session):
    assert java_process.has_java()
    assert session.sparkContext._gateway.proc.poll() is None
