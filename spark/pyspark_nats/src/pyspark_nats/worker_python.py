"""What Spark starts as the Python of its workers: this one, with PySpark as it is installed.

Spark puts archives of its Python sources before all that Python would find by itself. What comes
from an archive is compiled anew by each process, which takes half a second; a first query starts
four processes, one after the other. Where the archives belong to the very PySpark that is installed
here, compiled, this one is taken. Their daemon is `worker_daemon` then, in place of PySpark's.
"""

from __future__ import annotations

import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from pyspark_nats import worker_fork_client
from pyspark_nats.programs import has_place, place, put_program

VERSION_ASKED = "import sys; print('%d.%d' % sys.version_info[:2])"
"""What Spark runs two times before a first query (4.3)."""
DAEMON = "pyspark_nats.worker_daemon"
FORK_SOCKET = "PYSPARK_NATS_FORK_SOCKET"
"""Names where `worker_fork_server` listens, if it does."""
_TEXT = """#!/bin/sh
if [ "$1 $2" = {asked} ]; then
    echo {version}
    exit
fi
set -f
IFS=:
kept=
for each in $PYTHONPATH; do
    case $each in
        {folder}/pyspark.zip | {folder}/py4j-*-src.zip) ;;
        *) kept=$kept${{kept:+:}}$each ;;
    esac
done
export PYTHONPATH="$kept"
unset IFS
case "$1 $2" in
    "-m pyspark.daemon") shift 2; set -- -m {daemon} "$@" ;;
    "-m pyspark."*) ;;
    *) exec {python} "$@" ;;
esac
if [ -S "${socket}" ]; then
    shift
    exec {python} -I -S {client} "${socket}" "$@"
fi
exec {python} "$@"
"""


def worker_python() -> str:
    """Return what `PYSPARK_PYTHON` is to be; `SPARK_HOME` is set where it is not.

    It is this Python itself where `SPARK_HOME` says another Spark than the one that is installed,
    or where nothing can be put into this environment.
    """
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = str(Path(spec.origin).parent)
    if os.environ.setdefault("SPARK_HOME", home) != home or not has_place():
        return sys.executable
    folder = shlex.quote(f"{home}/python/lib")
    text = _TEXT.format(
        asked=shlex.quote(f"-c {VERSION_ASKED}"),
        version="{}.{}".format(*sys.version_info),
        folder=folder,
        daemon=DAEMON,
        socket=FORK_SOCKET,
        client=shlex.quote(str(Path(worker_fork_client.__file__))),
        python=shlex.quote(sys.executable),
    )
    return str(put_program(place() / "python", text))
