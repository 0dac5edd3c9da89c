"""The plugin `export`: `framework export STREAM --to FILE`. No server runs any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.hookspecs import hookimpl

if TYPE_CHECKING:
    from framework.spec import CommandGroup


@hookimpl
def framework_add_commands(cli: CommandGroup) -> None:
    """Add `framework export`."""
    from framework_spark.commands import add_export_command  # noqa: PLC0415 - no server

    add_export_command(cli)
