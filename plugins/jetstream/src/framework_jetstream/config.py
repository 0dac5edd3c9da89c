"""Settings of the block `jetstream`.

Source: nats-server `opts.go`, `parseJetStream`, `ProcessSwitches`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from framework.topology import ConfigSection, Kind, Node, Option

if TYPE_CHECKING:
    from collections.abc import Mapping


class JetStreamConfig(Struct, frozen=True):
    """The block `jetstream` of a server that has streams."""

    store_dir: str = ""
    """Empty: nats-server's default below the folder for temporary files."""
    max_memory: int = -1
    """Bytes of streams in memory; -1: as much as there is."""
    max_file: int = -1


def jetstream_section() -> ConfigSection:
    """Return the block, which `section_as(JetStreamConfig)` returns; None where it is off."""
    return ConfigSection(
        name="jetstream",
        plugin="jetstream",
        help="Streams and consumers",
        options=_OPTIONS,
        normalize=_block_from_word,
        record=JetStreamConfig,
        make=_config_from_values,
    )


def _block_from_word(node: Node) -> Node:
    """Return the block that a word stands for: `jetstream: enabled`."""
    if isinstance(node.value, dict):
        has_switch = any(key.lower() in {"enabled", "enable"} for key in node.value)
        if has_switch:
            return node
        return node.with_value({**node.value, "enabled": _switch(node, is_on=True)})
    word = str(node.value).lower()
    if word in {"enabled", "enable", "true"}:
        return node.with_value({"enabled": _switch(node, is_on=True)})
    if word in {"disabled", "disable", "false"}:
        return node.with_value({"enabled": _switch(node, is_on=False)})
    raise ValueError("expected a block, `enabled` or `disabled`")


def _switch(node: Node, *, is_on: bool) -> Node:
    return Node(is_on, node.place, node.key_place)


def _config_from_values(value: Mapping[str, Any]) -> JetStreamConfig | None:
    if not value["enabled"]:
        return None
    return JetStreamConfig(
        store_dir=value["store_dir"],
        max_memory=value["max_memory_store"],
        max_file=value["max_file_store"],
    )


_OPTIONS = (
    Option(name="enabled", kind=Kind.BOOL, default=False, aliases=("enable",),
           flags=("js", "jetstream"), help="Have streams; a block does unless it says otherwise"),
    Option(name="store_dir", kind=Kind.STRING, default="", aliases=("storedir",),
           flags=("sd", "store_dir"), help="Folder of what streams keep in files"),
    Option(name="max_memory_store", kind=Kind.SIZE, default=-1,
           aliases=("max_memory", "max_mem", "max_mem_store"),
           help="Bytes of streams in memory; as many as there are, if not set"),
    Option(name="max_file_store", kind=Kind.SIZE, default=-1, aliases=("max_file", "max_storage"),
           help="Bytes of streams in files; as many as there are, if not set"),
)  # fmt: skip
