"""Hook implementations of the Spark plugin. No server runs any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.hookspecs import hookimpl
from framework.spec import StatusColumn, StatusSection
from framework_spark.config import spark_section

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.spec import CommandGroup, ProcessSpec
    from framework.topology import ConfigSection, Topology


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the block `spark`."""
    return [spark_section()]


@hookimpl
def framework_add_commands(cli: CommandGroup) -> None:
    """Add `framework spark FILE.py` and `framework spark shell`."""
    from framework_spark.commands import add_spark_commands  # noqa: PLC0415 - no server

    add_spark_commands(cli)


@hookimpl
def framework_topology_processes(topology: Topology) -> Iterable[ProcessSpec]:
    """Run the jobs of a topology."""
    from framework_spark.jobs import processes_of  # noqa: PLC0415 - as above

    return processes_of(topology)


@hookimpl
def framework_status_sections() -> Iterable[StatusSection]:
    """Show rows and lag of jobs."""
    rows = StatusColumn(title="rows", cell=lambda it: it["rows"], priority=46)
    lag = StatusColumn(title="lag", cell=_lag, priority=44)
    return [StatusSection(field="spark", read=_counted, columns=(rows, lag))]


def _counted(document: object) -> dict[str, int | None] | None:
    """Return the counters of a job; None: it is a server's line."""
    if not isinstance(document, dict):
        return None
    lag = document["lag"]
    return {"rows": int(document["rows"]), "lag": None if lag is None else int(lag)}


def _lag(counted: dict[str, int | None]) -> str | int:
    """Return nothing as long as nobody knows: no batch has ended yet."""
    lag = counted["lag"]
    return "" if lag is None else lag
