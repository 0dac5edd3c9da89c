"""What is loaded while something else is waited for."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
preload = pytest.importorskip("pyspark_nats.preload")

STARTS_ONE = """
import subprocess, sys, threading
from pyspark_nats.preload import MODULE, import_behind_fork
import_behind_fork()
before = MODULE in sys.modules, [it.name for it in threading.enumerate()]
for _ in range(2):
    subprocess.run(["true"], preexec_fn=lambda: None)
for it in threading.enumerate():
    if it.name == "preload":
        it.join()
print(*before, MODULE in sys.modules)
"""


def test_modules_are_imported_when_java_is_on_its_way():
    done = subprocess.run(
        [sys.executable, "-c", STARTS_ONE], capture_output=True, text=True, check=True
    )

    assert "False ['MainThread'] True\n" == done.stdout


def test_what_java_has_not_is_nobodys_concern():
    preload.load_beside(object())
    for it in threading.enumerate():
        if it.name == "preload":
            it.join()


def test_spark_has_what_is_loaded(session):
    preload.load(session.sparkContext._jvm)
