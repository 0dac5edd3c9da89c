"""Runs a script, or a shell, on a local Spark: `python -m pyspark_nats.job FILE.py`.

The script finds the session as `spark`. Queries that it has left running are waited for.
Of a supervisor (`--status-fd`) it is told how to end, and tells it once a second how it does.
"""

from __future__ import annotations

import argparse
import code
import json
import os
import runpy
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark_nats.session import local_session
from pyspark_nats.worker_sockets import remove_sockets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from pyspark_nats.listener import RowCounter

REPORT_S = 1.0
STOP_DEADLINE_S = 8.0
"""`framework run` kills after ten."""
_BANNER = "The session is `spark`; functions of columns are `F`. End with Ctrl-D."


def main(words: Sequence[str] | None = None) -> None:
    """Do what the command line says.

    Args:
        words: Behind the name of the program; None: those of this process.
    """
    own, supervised = _parted(sys.argv[1:] if words is None else words)
    arguments = _parser().parse_args([*supervised, *own])
    if arguments.stderr_file:
        _open_log(arguments.stderr_file)
    reloads = _Reloads()
    signal.signal(signal.SIGHUP, reloads.count_one)
    signal.signal(signal.SIGUSR1, lambda *_: _open_log(arguments.stderr_file))
    spark = local_session(cores=arguments.cores, memory=arguments.memory)
    from pyspark_nats.listener import (  # noqa: PLC0415 - imports PySpark: after Java was started
        BarProgress,
        JsonProgress,
        RowCounter,
    )

    session = _Session(spark)
    for number in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, lambda *_: threading.Thread(target=_end, args=(session,)).start())
    try:
        counter = RowCounter()
        spark.streams.addListener(counter)
        if arguments.status_fd is not None:
            _report(arguments.status_fd, counter, reloads)
        if arguments.json:
            spark.streams.addListener(JsonProgress())
        elif sys.stderr.isatty():
            spark.streams.addListener(BarProgress(sys.stderr))
        _run(arguments, spark)
    finally:
        session.stop()


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return our words, and those that a supervisor has put behind them and behind the script's."""
    own, last = list(words), []
    while len(own) > 1 and own[-2] in {"--status-fd", "--stderr-file"}:
        last += own[-2:]
        del own[-2:]
    return own, last


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="framework spark", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="a script; none: a shell")
    parser.add_argument("arguments", nargs="*", help="of the script")
    parser.add_argument("--cores", type=int, default=2, help="tasks at once (default: 2)")
    parser.add_argument("--memory", default="1g", help="heap of Java (default: 1g)")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each batch")
    parser.add_argument("--status-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--stderr-file", type=Path, help=argparse.SUPPRESS)
    return parser


def _run(arguments: argparse.Namespace, spark: SparkSession) -> None:
    from pyspark.sql import functions  # noqa: PLC0415 - after Java was found

    names = {"spark": spark, "F": functions}
    if arguments.file is None:
        _shell(names)
        return
    sys.argv = [arguments.file, *arguments.arguments]
    sys.path.insert(0, str(Path(arguments.file).resolve().parent))
    runpy.run_path(arguments.file, init_globals=names, run_name="__main__")
    while spark.streams.active:
        spark.streams.awaitAnyTermination()
        spark.streams.resetTerminated()


def _shell(names: dict[str, Any]) -> None:
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - lines can be edited where it is there
    code.interact(_BANNER, local=names, exitmsg="")


class _Session:
    """Stops a session once: a script may have ended because a signal has stopped its queries."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._stopping = threading.Lock()
        self._is_stopped = False

    def stop(self) -> None:
        """Stop it, or wait until it has been stopped."""
        with self._stopping:
            if self._is_stopped:
                return
            self._is_stopped = True
            for query in self._spark.streams.active:
                query.stop()
            self._spark.stop()


def _end(session: _Session) -> None:
    """End this process, wherever the script is: it may be waiting for Java."""
    threading.Timer(STOP_DEADLINE_S, os._exit, (0,)).start()
    with suppress(Exception):  # of a session that is about to begin, or to end
        session.stop()
    remove_sockets()
    sys.stderr.flush()
    os._exit(0)


def _open_log(path: Path | None) -> None:
    if path is not None:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(fd, sys.stderr.fileno())
        os.close(fd)


class _Reloads:
    """Counts reloads: there is nothing to be read again."""

    def __init__(self) -> None:
        self.count = 0

    def count_one(self, *_: object) -> None:
        self.count += 1


def _report(fd: int, counter: RowCounter, reloads: _Reloads) -> None:
    """Write a line a second to a supervisor, and end when it is gone."""
    os.set_blocking(fd, True)
    stopped = threading.Event()

    def write() -> None:
        while not stopped.is_set():
            line: dict[str, Any] = {"ready": True, "spark": counter.totals()}
            if reloads.count:
                line["reload"] = {"count": reloads.count}
            try:
                os.write(fd, json.dumps(line).encode() + b"\n")
            except OSError:
                return
            stopped.wait(REPORT_S)

    def watch() -> None:
        with suppress(OSError):
            while os.read(fd, 1024):
                pass
        stopped.set()
        os.kill(os.getpid(), signal.SIGTERM)

    for work in (write, watch):
        threading.Thread(target=work, daemon=True).start()


if __name__ == "__main__":
    main()
