"""The option `compression` of blocks about other servers.

Source: nats-server `opts.go`, `parseCompression`; `server.go`,
`validateAndNormalizeCompressionOption`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from framework.peering.compression import (
    RTT_THRESHOLDS_MAX,
    RTT_THRESHOLDS_NS,
    CompressionTerms,
)
from framework.topology import Kind, Node, Option, Reload
from framework.topology.units import seconds_from_text

_ALIASES = {
    "disabled": "off", "false": "off",
    "auto": "s2_auto", "fast": "s2_fast", "better": "s2_better", "best": "s2_best",
}  # fmt: skip
_ON = frozenset({"on", "enabled", "true"})


def _block_from_mode(node: Node) -> Node:
    """Take `compression: s2_fast`, or `on`, for a block with that mode."""
    match node.value:
        case bool() | str() as mode:
            return node.with_value({"mode": Node(str(mode), node.place, node.key_place)})
        case _:
            return node


def _settle_compression(
    modes: Collection[str], on: str, values: dict[str, object]
) -> Iterator[tuple[str, str]]:
    """Check the mode and what it goes by, and put its proper name in place of another one."""
    written = str(values["mode"])
    mode = on if written.lower() in _ON else _ALIASES.get(written.lower(), written.lower())
    values["mode"] = mode
    if mode not in modes:
        yield "mode", f'unsupported compression mode "{written}"; there are {", ".join(modes)}'
    texts = values["rtt_thresholds"]
    assert isinstance(texts, tuple)
    try:
        rtt_thresholds_from_texts(texts)
    except ValueError as error:
        yield "rtt_thresholds", str(error)


def rtt_thresholds_from_texts(texts: Sequence[str]) -> tuple[int, ...]:
    """Return thresholds in nanoseconds, the default ones where none are written.

    Raises:
        ValueError: They are not what nats-server takes.
    """
    found = [max(0, round(seconds_from_text(text) * 1e9)) for text in texts]
    used = [threshold for threshold in found if threshold]
    while found and not found[-1]:
        found.pop()
    if used != sorted(used):
        raise ValueError("RTT thresholds should be in ascending order")
    if len(found) > RTT_THRESHOLDS_MAX:
        raise ValueError(f"expected no more than {RTT_THRESHOLDS_MAX} RTT thresholds")
    if texts and not found:
        raise ValueError("expected at least one RTT threshold that is not 0")
    return tuple(found) or RTT_THRESHOLDS_NS


def compression_terms(block: Mapping[str, Any] | None, default: str) -> CompressionTerms:
    """Return what the option comes to; None: it is not set, and the mode is the default one."""
    if block is None:
        return CompressionTerms(default)
    return CompressionTerms(block["mode"], rtt_thresholds_from_texts(block["rtt_thresholds"]))


def compression_option(
    modes: Collection[str], *, default: str, on: str = "s2_fast", what: str
) -> Option:
    """Return the option `compression`.

    Args:
        modes: Names of the modes that there are.
        default: The one where none is configured.
        on: The one that `on` means.
        what: Is compressed: `routes`.
    """
    return Option(
        name="compression", kind=Kind.BLOCK, normalize=_block_from_mode,
        settle=partial(_settle_compression, modes, on), reload=Reload.LIVE,
        help=f"How {what} are compressed; other servers may want it otherwise",
        options=(
            Option(name="mode", kind=Kind.STRING, default=default, reload=Reload.LIVE,
                   help="How much to compress; the mode alone may stand in place of the block"),
            Option(name="rtt_thresholds", kind=Kind.STRINGS, default=(),
                   aliases=("thresholds", "rtts", "rtt"), reload=Reload.LIVE,
                   help="Round trips up to which `s2_auto` takes each level; 0 leaves one out"),
        ),
    )  # fmt: skip
