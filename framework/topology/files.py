"""Read the configuration of one server from a nats-server file."""

from __future__ import annotations

import os
from collections.abc import Iterable

from framework.topology.collection import no_collections
from framework.topology.node import Node, table_from_plain
from framework.topology.option import ConfigSection
from framework.topology.place import NOWHERE
from framework.topology.schema import Schema
from framework.topology.server_config import ServerConfig, configure

__all__ = ["read_server_conf"]


@no_collections()
def read_server_conf(
    path: str | os.PathLike[str] | None,
    sections: Iterable[ConfigSection] | Schema = (),
    settings: Node | None = None,
) -> ServerConfig:
    """Read a server's configuration: a file in nats-server's language, and flags over it.

    Args:
        path: The file; None: there is none, only flags and defaults.
        sections: What the plugins declare, or the schema made of it.
        settings: What the flags say, see `parse_flags`; it wins over the file.

    Raises:
        TopologyErrors: All that is wrong, each with its place.
    """
    schema = sections if isinstance(sections, Schema) else Schema(sections)
    layers = [] if path is None else [_file_settings(path)]
    if settings is not None or not layers:
        layers.append(settings or table_from_plain({}, NOWHERE))
    return configure(schema, layers, file=None if path is None else str(path))


def _file_settings(path: str | os.PathLike[str]) -> Node:
    from framework.topology.natsconf import load_conf  # noqa: PLC0415 - many have no file

    return load_conf(path)
