"""A plugin that makes the meta leader fail when it is to place the stream BAD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework_jetstream.meta.leader import MetaLeader

if TYPE_CHECKING:
    from framework_jetstream.meta.assignments import StreamAssignment

_create_stream = MetaLeader.create_stream


def create_stream(leader: MetaLeader, wanted: StreamAssignment, *others: Any) -> Any:
    """Raise for one stream."""
    if wanted.asset.stream == "BAD":
        raise LookupError("this leader is no good")
    return _create_stream(leader, wanted, *others)


MetaLeader.create_stream = create_stream  # type: ignore[method-assign]
