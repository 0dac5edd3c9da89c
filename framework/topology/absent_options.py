"""Options of nats-server features that are not there yet: off is accepted, on is refused.

A plugin that owns such an option takes its place.

Source: nats-server 2.15.2 `opts.go`, `parseJetStream`, `parseLeafNodes`, `parseGateway`,
`parseWebsocket`, `parseMQTT`, `processConfigFileLine`; `server.go`, `validateOptions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.topology.option import Kind, Option
from framework.topology.units import listen_from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.topology.node import Node

__all__ = ["absent_for"]


def _block_of(node: Node) -> Mapping[str, object] | None:
    """Return a block with its keys in lower case; None if it is none."""
    if not isinstance(node.value, dict):
        return None
    return {key.lower(): inner.plain() for key, inner in node.value.items()}


def _is_jetstream_off(node: Node) -> bool:
    block = _block_of(node)
    if block is not None:
        return block.get("enabled", block.get("enable", True)) is False
    return node.value is False or str(node.value).lower() in {"disabled", "disable", "false"}


def _listens(block: Mapping[str, object]) -> bool:
    try:
        port = listen_from_text(str(block["listen"]))[1] if "listen" in block else 0
    except ValueError:
        return True
    return block.get("port", port) != 0


def _is_listener_off(node: Node) -> bool:
    block = _block_of(node)
    return block is not None and not _listens(block)


def _is_gateway_off(node: Node) -> bool:
    block = _block_of(node)
    return block is not None and not _listens(block) and not block.get("name")


def _is_leafnode_off(node: Node) -> bool:
    block = _block_of(node)
    if block is None or _listens(block):
        return False
    remotes = block.get("remotes", [])
    return isinstance(remotes, list) and all(
        isinstance(remote, dict) and remote.get("disabled") is True for remote in remotes
    )


def _is_ocsp_off(node: Node) -> bool:
    block = _block_of(node)
    if block is None:
        return node.value is False
    return str(block.get("mode")).lower() == "never"


def _is_empty(node: Node) -> bool:
    return _block_of(node) == {}


def _absent(
    feature: str,
    name: str,
    *aliases: str,
    is_off: Callable[[Node], bool],
    flags: tuple[str, ...] = (),
) -> Option:
    return Option(
        name=name,
        kind=Kind.BOOL if flags else Kind.FREE,
        aliases=aliases,
        flags=flags,
        help=f"Not there yet: {feature}",
        refusal=f"{feature} not there yet",
        is_off=is_off,
    )


_ABSENT: tuple[Option, ...] = (
    replace(
        _absent("JetStream is", "jetstream", is_off=_is_jetstream_off, flags=("js", "jetstream")),
        help="Streams and consumers: of the plugin jetstream",
        refusal="it needs the jetstream plugin, which is not loaded",
    ),
    replace(
        _absent("domains of accounts are", "default_js_domain", is_off=_is_empty),
        help="Domains that accounts use by default: of the plugin auth",
        refusal="it needs the auth plugin, which is not loaded",
    ),
    Option(name="store_dir", kind=Kind.STRING, aliases=("storedir",), flags=("sd", "store_dir"),
           help="Folder of JetStream; without JetStream nothing is written there"),
    Option(name="feature_flags", kind=Kind.FREE, help="Features of JetStream to turn on or off",
           inert="features of JetStream can't be turned on or off one by one yet"),
    replace(
        _absent("gateways are", "gateway", is_off=_is_gateway_off),
        help="Gateways to other clusters: of the plugin gateway",
        refusal="it needs the gateway plugin, which is not loaded",
    ),
    replace(
        _absent("leaf nodes are", "leafnodes", "leaf", is_off=_is_leafnode_off),
        help="Leaf nodes and hubs: of the plugin leafnode",
        refusal="it needs the leafnode plugin, which is not loaded",
    ),
    replace(
        _absent("WebSocket is", "websocket", "ws", is_off=_is_listener_off),
        help="Clients that come by WebSocket: of the plugin websocket",
        refusal="it needs the websocket plugin, which is not loaded",
    ),
    _absent("MQTT is", "mqtt", is_off=_is_listener_off),
    _absent("OCSP stapling is", "ocsp", is_off=_is_ocsp_off),
    Option(name="ocsp_cache", kind=Kind.FREE, help="Keep what OCSP says of peers",
           inert="OCSP is not there yet, so that nothing is to be kept"),
)  # fmt: skip
"""All options that no plugin of this tree owns yet, at the top level."""


def absent_for(claims: set[str]) -> tuple[Option, ...]:
    """Return the options of which nobody has claimed a spelling or a flag.

    Args:
        claims: Keys of the top level, and flags with a dash before them.
    """
    return tuple(
        option
        for option in _ABSENT
        if claims.isdisjoint({*option.names, *(f"-{flag}" for flag in option.flags)})
    )
