"""Where a query stands in its streams: what is in the checkpoint, and nothing else is.

An offset names for each stream the sequence that is read next, and the stream's identity. It is
JSON in the checkpoint: `{"v": 1, "s": {"ORDERS": {"next": 1001, "id": "<created>"}}}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark_nats.errors import DataLossError, NatsSourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark_nats.jetstream import StreamState

VERSION = 1


class Position(NamedTuple):
    """The place in one stream."""

    next: int
    """Sequence that is read next; at least 1."""
    id: str
    """Of the stream (`StreamState.id`)."""


def json_of(positions: Mapping[str, Position]) -> dict[str, Any]:
    """Return the offset that goes into the checkpoint."""
    streams = {name: {"next": it.next, "id": it.id} for name, it in sorted(positions.items())}
    return {"v": VERSION, "s": streams}


def positions_of(offset: Mapping[str, Any]) -> dict[str, Position]:
    """Return what an offset of the checkpoint says.

    Raises:
        NatsSourceError: It was not written by this source, or by a newer one.
    """
    try:
        if offset["v"] != VERSION:
            raise NatsSourceError(
                f"the checkpoint has offsets of version {offset['v']}; this source reads {VERSION}"
            )
        return {name: Position(int(it["next"]), it["id"]) for name, it in offset["s"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise NatsSourceError(
            f"the checkpoint is not of this source: offset {offset!r}; "
            "give this query a checkpointLocation of its own"
        ) from error


def loss(position: Position, state: StreamState) -> str:
    """Return what was lost between a position and the stream as it is; empty when nothing.

    A cut prefix is loss, and so is another stream of the same name. A hole is not, nor is what
    others have acknowledged in a work queue or a stream kept by interest.
    """
    if state.id != position.id:
        return (
            f"stream {state.name!r} was deleted and created anew: the checkpoint is of the one "
            f"of {position.id}, this one is of {state.id}"
        )
    if state.first_seq > position.next and state.is_cut_by_limits:
        return (
            f"stream {state.name!r}: messages {position.next} to {state.first_seq - 1} are gone: "
            f"it begins at {state.first_seq} now"
        )
    if state.end < position.next:
        return (
            f"stream {state.name!r} ends at {state.last_seq}, before {position.next}, "
            "which is read next: it was restored from an older state"
        )
    return ""


def shares(backlog: Mapping[str, int], limit: int) -> dict[str, int]:
    """Share a limit among streams by what they have to read.

    Args:
        backlog: Name to how many sequences there are to read; 0 or more.
        limit: How many may be read in all; at least 1.

    Returns:
        Name to how many may be read, no more than its backlog; `limit` in all where there is
        as much. A stream that has something gets something, as far as the limit goes.
    """
    total = sum(backlog.values())
    if total <= limit:
        return dict(backlog)
    given: dict[str, int] = {}
    left, rest = limit, total
    for name, count in sorted(backlog.items(), key=lambda each: (each[1], each[0])):
        share = min(count, max(left * count // rest if rest else 0, 1 if count and left else 0))
        given[name] = share
        left -= share
        rest -= count
    return given


def refuse_unless(reason: str, *, fail: bool) -> None:
    """Raise for a loss if that is asked for."""
    if fail:
        raise DataLossError(f"{reason}; set failOnDataLoss=false to go on without them")
