"""What Java has read of Spark's classes, kept for later starts: `framework spark prepare`.

Spark loads some 13,000 classes before its first row. An archive of them, made once by the Java that
is to use it, halves the processor time of a start: a class-data archive of Java 17 to 24 (JEP 350),
an ahead-of-time cache from 25 on (JEP 514). Java looks itself whether an archive fits it and the
jars, and starts without one that does not.

    python -m pyspark_nats.class_archive
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark_nats.errors import NatsSourceError
from pyspark_nats.java import find_java

if TYPE_CHECKING:
    from pyspark_nats.java import Java

_AHEAD_OF_TIME: Final = 25
"""Of Java: the first with caches made by one run."""
_TRAINED_BY: Final = "PYSPARK_NATS_CLASS_ARCHIVE"
"""Names the file to those who make it."""
_IN_PLACE: Final = "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0"
"""Map an archive where it was written for: elsewhere all that points into it is changed first,
0.2 s of processor time. Java does that where there is no room."""
_DEADLINE_S: Final = 600.0
_SHOWN_CHARS: Final = 2000


def archive_options(java: Java) -> str:
    """Return options for the command line of a Java that let it use its archive; empty: none.

    Within `framework spark prepare` they let it write one when it ends.
    """
    file = os.environ.get(_TRAINED_BY)
    is_new = java.major >= _AHEAD_OF_TIME
    if file:
        return f'"-XX:{"AOTCacheOutput" if is_new else "ArchiveClassesAtExit"}={file}"'
    path = archive_of(java)
    if not path.exists():
        return ""
    # An archive that does not fit is no news to who has not made it.
    return (
        f'"-XX:AOTCache={path}" -Xlog:aot*=off'
        if is_new
        else f'"-XX:SharedArchiveFile={path}" -Xlog:cds*=off {_IN_PLACE}'
    )


def archive_of(java: Java) -> Path:
    """Return where the archive of a Java is, or would be: in this Python's environment."""
    known = "\0".join((java.command, java.version, metadata.version("pyspark")))
    name = hashlib.sha256(known.encode()).hexdigest()[:16]
    return Path(sys.prefix, "share", "pyspark_nats", "classes", f"{name}.jsa")


def prepare() -> Path:
    """Make the archive of the Java that Spark will find; one that is there is made anew.

    Returns:
        Where it is.

    Raises:
        NatsSourceError: There is no Java, this environment can't be written to, or Java made none.
    """
    path = archive_of(find_java())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(dir=path.parent)
    except OSError as error:
        raise NatsSourceError(
            f"{error.filename}: {error.strerror}: classes are kept in the environment of this"
            " Python; take one that you may write to (python -m venv)"
        ) from error
    made = Path(folder, path.name)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pyspark_nats.class_training"],
            check=False,
            env={**os.environ, _TRAINED_BY: str(made)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_DEADLINE_S,
        )
        if done.returncode or not made.exists():
            raise NatsSourceError(f"Java made no archive of classes: {done.stdout[-_SHOWN_CHARS:]}")
        made.replace(path)
    finally:
        for left in Path(folder).iterdir():
            left.unlink()
        Path(folder).rmdir()
    return path


def main() -> None:
    """Make the archive, and say where it is."""
    try:
        path = prepare()
    except NatsSourceError as error:
        raise SystemExit(f"framework spark prepare: {error}") from None
    sys.stdout.write(f"{path}: {path.stat().st_size >> 20} MiB of classes for later starts\n")


if __name__ == "__main__":
    main()
