"""The jobs of a topology as processes beside its servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from framework.spec import ProcessSpec
from framework_spark.commands import job_words
from framework_spark.config import SparkConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.topology import Topology

START_DEADLINE_S: Final = 180.0
"""Spark takes ten seconds to start, and on a machine that is busy with other things many more."""
_WILDCARDS = {"", "0.0.0.0", "::"}  # noqa: S104 - that a server listens on


def processes_of(topology: Topology) -> Iterator[ProcessSpec]:
    """Yield a process for each job, whichever servers' settings name it.

    A script's `NATS_URL` has the servers whose ports the file says.
    """
    jobs = {
        name: job
        for plan in topology.servers
        if (config := plan.config.section_as(SparkConfig)) is not None
        for name, job in config.jobs.items()
    }
    urls = ",".join(_urls(topology))
    for name, job in jobs.items():
        file = Path(topology.file).resolve().parent / job.file
        words = job_words(str(file), job.arguments, cores=str(job.cores), memory=job.memory)
        yield ProcessSpec(
            name=name,
            arguments=("/usr/bin/env", f"NATS_URL={urls}", *words),
            start_deadline_s=START_DEADLINE_S,
        )


def _urls(topology: Topology) -> Iterator[str]:
    for plan in topology.servers:
        listen = plan.config.values.get("listen")
        if isinstance(listen, tuple) and listen[1]:
            host, port = listen
            yield f"nats://{'127.0.0.1' if host in _WILDCARDS else host}:{port}"
