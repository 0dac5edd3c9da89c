"""The example pipeline: cluster, taps and Spark by one command, in one status."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from framework.testing import free_port

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
EXAMPLE = Path(__file__).parents[3] / "examples" / "analytics"


@pytest.fixture
def example(tmp_path):
    """A copy of the example, on free ports."""
    folder = tmp_path / "analytics"
    shutil.copytree(EXAMPLE, folder)
    file = folder / "topology.toml"
    ports = {port: free_port() for port in (4222, 4223, 6222, 6223, 8222, 8223)}
    text = re.sub(r"\b[468]22[23]\b", lambda it: str(ports[int(it[0])]), file.read_text())
    file.write_text(text)
    return file, ports


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_pipeline_of_the_example(example, tmp_path):
    file, ports = example
    command = [sys.executable, "-m", "framework", "run", str(file), "--log-dir", str(tmp_path)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as run:
        try:
            said = lines_until(run.stdout, "analytics ready")
            urls = f"nats://127.0.0.1:{ports[4222]},nats://127.0.0.1:{ports[4223]}"
            load = [sys.executable, str(file.parent / "load.py"), "--seconds", "200"]
            with subprocess.Popen(load, env={**os.environ, "NATS_URL": urls}) as loading:
                try:
                    found = summary_of(tmp_path / "analytics-out" / "summary.json", run)
                finally:
                    loading.kill()
            run.send_signal(signal.SIGINT)
            said += run.stdout.read().splitlines()
            code = run.wait()
        finally:
            run.kill()

    assert 0 == code
    for name in ("shop-1", "shop-2", "analytics"):
        assert any(f" {name} ready" in line for line in said), said
    assert {"till", "browser", "prices"} >= {it["client"].split()[0] for it in found["talkers"]}
    assert {"shop-1", "shop-2"} == {it["server"] for it in found["talkers"]}
    assert any(it["subject"].startswith("orders.shop-") for it in found["rates"])
    assert all(0 < it["p50_ms"] <= it["p99_ms"] for it in found["latency"])


def lines_until(stream, words):
    lines = []
    for line in stream:
        lines.append(line)
        if words in line:
            return lines
    pytest.fail(f"no {words!r} in {lines[-4:]}")


def summary_of(file, run):
    """Return the summary of a batch that has seen answers of both servers."""
    while run.poll() is None:
        if file.exists() and (text := file.read_text()):
            found = json.loads(text)
            if found["latency"] and len({it["server"] for it in found["talkers"]}) > 1:
                return found
    pytest.fail("it has ended")
