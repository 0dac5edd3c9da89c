"""Spark's process of Java, started before PySpark is imported: neither waits for the other.

What is started is `spark-submit`, as PySpark would start it, with the same words. Java says in a
file where it answers (`PythonGatewayServer`); PySpark is given that by the two variables by which
`spark-submit` gives it to a script.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark_nats.errors import NatsSourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PORT: Final = "PYSPARK_GATEWAY_PORT"
_SECRET: Final = "PYSPARK_GATEWAY_SECRET"  # noqa: S105 - a name
_LOOKS_S: Final = 0.005


def has_java() -> bool:
    """Return whether this process has Java already: by an earlier session, or by `spark-submit`."""
    context = sys.modules.get("pyspark.core.context")
    return _PORT in os.environ or (
        context is not None and context.SparkContext._gateway is not None  # noqa: SLF001 - as PySpark
    )


class JavaProcess:
    """Java on its way; `join` waits for it.

    It ends with this process, whose end it sees by its standard input.

    Args:
        settings: Spark's.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._folder = tempfile.mkdtemp(prefix="pyspark_nats-java-")
        self._said = Path(self._folder, "gateway")
        words = [f"{os.environ['SPARK_HOME']}/bin/spark-submit"]
        for name, value in settings.items():
            words += ["--conf", f"{name}={value}"]
        words += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        environ = {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._said)}
        self._process = subprocess.Popen(  # noqa: S603 - Spark's own
            words,
            stdin=subprocess.PIPE,
            env={**os.environ, **environ},
            preexec_fn=_ignore_interrupts,  # noqa: PLW1509 - no thread of ours is there yet
        )

    def join(self) -> None:
        """Let PySpark use it as soon as it answers.

        Raises:
            NatsSourceError: It has ended; it has said why by itself.
        """
        try:
            while not self._said.exists():
                if self._process.poll() is not None:
                    problem = f"Spark's Java has ended with {self._process.returncode} at its start"
                    raise NatsSourceError(problem)
                time.sleep(_LOOKS_S)
            port, secret = _read(self._said.read_bytes())
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        from pyspark import SparkContext  # noqa: PLC0415 - after Java was started

        os.environ.update({_PORT: str(port), _SECRET: secret})
        try:
            SparkContext._ensure_initialized()  # noqa: SLF001 - PySpark would do the same
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        SparkContext._gateway.proc = self._process  # noqa: SLF001 - as PySpark does


def _read(said: bytes) -> tuple[int, str]:
    """Return the port and the secret: a number, and text behind its length, of 4 bytes each."""
    port, length = struct.unpack_from(">ii", said)
    return port, said[8 : 8 + length].decode()


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
