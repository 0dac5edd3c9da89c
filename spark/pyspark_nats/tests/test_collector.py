"""What workers have loaded is not looked at by Python's collector again."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")

LOOKS = """
import gc
from pyspark_nats.source import NatsDataSource
source = NatsDataSource({"servers": "nats://127.0.0.1:4222", "stream": "S"})
before = gc.get_freeze_count()
source.schema()
loaded = gc.get_freeze_count()
later = [[] for _ in range(1000)]
source.schema()
print(before, loaded > 10000, gc.get_freeze_count() - loaded)
"""


def test_what_is_loaded_is_left_out_and_nothing_that_comes_later():
    said = subprocess.run([sys.executable, "-c", LOOKS], check=True, capture_output=True, text=True)

    assert said.stdout.split() == ["0", "True", "0"]
