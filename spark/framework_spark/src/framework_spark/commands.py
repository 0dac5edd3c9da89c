"""`framework spark FILE.py`, `framework spark shell|prepare`, and `framework export`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.spec import CommandGroup

JOB = ("-m", "pyspark_nats.job")
CLASSES = ("-m", "pyspark_nats.class_archive")
EXPORT = ("-m", "pyspark_nats.table_file")


def add_spark_commands(cli: CommandGroup) -> None:
    """Add the commands."""
    run = cli.add_command("run", _run, help="run a script on a local Spark", is_default=True)
    run.add_argument("file", metavar="FILE", help="a script; it finds the session as `spark`")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    shell = cli.add_command("shell", _run, help="start a Python shell on a local Spark")
    shell.set_defaults(file=None, arguments=[])
    cli.add_command("prepare", _prepare, help="let later starts of Spark take half the time")
    for parser in (run, shell):
        parser.add_argument("--servers", metavar="URLS", help="in place of NATS_URL")
        parser.add_argument("--cores", default="2", help="tasks at once (default: 2)")
        parser.add_argument("--memory", default="1g", help="heap of Java (default: 1g)")
        parser.add_argument("--json", action="store_true", help="a line of JSON for each batch")


def add_export_command(cli: CommandGroup) -> None:
    """Add the command that writes a stream to a file."""
    text = "write a stream to a file of Arrow or Parquet; `framework export S --help` says how"
    parser = cli.add_command("file", _export, help=text, is_default=True)
    parser.add_argument("stream", metavar="STREAM")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="--to FILE")


def job_words(
    file: str | None, arguments: Sequence[str], *, cores: str, memory: str
) -> tuple[str, ...]:
    """Return the words that run a script, or a shell, with this very Python."""
    options = ("--cores", cores, "--memory", memory)
    script = (file, "--", *arguments) if file is not None else ()
    return (sys.executable, *JOB, *options, *script)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.servers:
        os.environ["NATS_URL"] = arguments.servers
    words = job_words(
        arguments.file, arguments.arguments, cores=arguments.cores, memory=arguments.memory
    )
    if arguments.json:
        words = (*words[:3], "--json", *words[3:])
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - this Python, and words of the user


def _prepare(_: argparse.Namespace) -> int:
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *CLASSES])  # noqa: S606 - this Python


def _export(arguments: argparse.Namespace) -> int:
    sys.stdout.flush()
    words = [sys.executable, *EXPORT, arguments.stream, *arguments.words]
    os.execv(sys.executable, words)  # noqa: S606 - as above
