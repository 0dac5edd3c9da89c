"""Settings of the block `spark`: jobs that run beside the servers of a topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from framework.topology import Setting, section_of

if TYPE_CHECKING:
    from framework.topology import ConfigSection


class SparkJob(Struct, frozen=True, kw_only=True):
    """A script that runs as long as the servers do."""

    file: Annotated[str, Setting(help="A script; its path is relative to that of the topology")]
    arguments: Annotated[tuple[str, ...], Setting(help="Of the script")] = ()
    cores: Annotated[int, Setting(help="Tasks at once", minimum=1)] = 2
    memory: Annotated[str, Setting(help="Heap of Java, as Spark writes it")] = "1g"


class SparkConfig(Struct, frozen=True, kw_only=True):
    """The block `spark`. Servers have no use for it; `framework run` does."""

    jobs: Annotated[dict[str, SparkJob], Setting(help="What runs beside the servers, by name")] = {}


def spark_section() -> ConfigSection:
    """Return the block, which `section_as(SparkConfig)` returns; None where there is none."""
    return section_of(SparkConfig, name="spark", help="Jobs of Spark beside a topology's servers")
