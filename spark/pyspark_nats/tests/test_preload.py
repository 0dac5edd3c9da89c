"""What is loaded while something else is waited for."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
preload = pytest.importorskip("pyspark_nats.preload")

IMPORTS = """
import sys
from pyspark_nats.preload import MODULES, import_modules
before = [it in sys.modules for it in MODULES]
import_modules()
print(*before, *(it in sys.modules for it in MODULES))
"""


def test_modules_are_imported():
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False False True True\n"


def test_what_java_has_not_is_nobodys_concern():
    preload.load_beside(object())
    for it in threading.enumerate():
        if it.name == "preload":
            it.join()


def test_spark_has_what_is_loaded(session):
    preload.load(session.sparkContext._jvm)
