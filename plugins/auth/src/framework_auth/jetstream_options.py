"""The option `jetstream` of an account: what it may store.

Source: nats-server `opts.go`, `parseJetStreamForAccount`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework.spec import ALL_TIERS, JetStreamLimits
from framework.topology import Kind, Node, Option, Reload

if TYPE_CHECKING:
    from collections.abc import Mapping

_ON: Final = {"enabled", "enable", "true"}
_OFF: Final = {"disabled", "disable", "false"}


def jetstream_limits(block: Mapping[str, Any] | None) -> Mapping[str, JetStreamLimits] | None:
    """Return what an account may store; None: the block is not there, or says that it is off."""
    if block is None:
        return None
    names = JetStreamLimits.__struct_fields__
    return {ALL_TIERS: JetStreamLimits(**{name: block[name] for name in names})}


def _block_from_word(node: Node) -> Node:
    if isinstance(node.value, dict):
        return node
    word = str(node.value).lower()
    if word in _ON:
        return node.with_value({})
    if word in _OFF:
        return Node(None, node.place, node.key_place)
    raise ValueError("expected a block, `enabled` or `disabled`")


def _check_traffic(value: object) -> str | None:
    if value in {"", "system"}:
        return None
    return "there is no traffic of replicas yet, which could go by the account itself"


JETSTREAM = Option(
    name="jetstream", kind=Kind.BLOCK, normalize=_block_from_word, reload=Reload.LIVE,
    help="What the account may store in streams: `enabled`, `disabled`, or limits",
    options=(
        Option(name="max_memory", kind=Kind.SIZE, aliases=("max_mem", "mem", "memory"),
               default=-1, minimum=-1, reload=Reload.LIVE,
               help="Bytes of streams in memory; -1: any number"),
        Option(name="max_storage", kind=Kind.SIZE,
               aliases=("max_store", "max_file", "max_disk", "store", "disk"),
               default=-1, minimum=-1, reload=Reload.LIVE,
               help="Bytes of streams in files; -1: any number"),
        Option(name="max_streams", kind=Kind.INT, aliases=("streams",), default=-1, minimum=-1,
               unit="streams", reload=Reload.LIVE, help="Streams; -1: any number"),
        Option(name="max_consumers", kind=Kind.INT, aliases=("consumers",), default=-1,
               minimum=-1, unit="consumers", reload=Reload.LIVE,
               help="Consumers of each stream; -1: any number"),
        Option(name="max_ack_pending", kind=Kind.INT, default=-1, minimum=-1, unit="messages",
               reload=Reload.LIVE,
               help="Messages of a consumer that wait for acknowledgement; -1: any number"),
        Option(name="memory_max_stream_bytes", kind=Kind.SIZE, aliases=("mem_max_stream_bytes",),
               default=-1, minimum=-1, reload=Reload.LIVE,
               help="Bytes of each stream in memory; -1: any number"),
        Option(name="storage_max_stream_bytes", kind=Kind.SIZE,
               aliases=("disk_max_stream_bytes", "store_max_stream_bytes"),
               default=-1, minimum=-1, reload=Reload.LIVE,
               help="Bytes of each stream in files; -1: any number"),
        Option(name="max_bytes_required", kind=Kind.BOOL,
               aliases=("max_stream_bytes", "max_bytes"), default=False, reload=Reload.LIVE,
               help="Whether each stream must say how many bytes it may have"),
        Option(name="cluster_traffic", kind=Kind.STRING, default="", check=_check_traffic,
               reload=Reload.LIVE, help="By which account replicas talk: `system`"),
    ),
)  # fmt: skip
