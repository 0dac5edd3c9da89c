"""A plugin that lets the server n3 keep fewer messages than a stream is to have, as a version might
that decides otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework_jetstream.stream.stream import Stream

if TYPE_CHECKING:
    from framework_jetstream.engine.verbs import Verb

ODD = "n3"
KEPT, KEPT_THERE = 5, 3
"""`max_msgs`, as it is configured, and what that server makes of it."""

_ask = Stream._ask


def ask(stream: Stream, verb: Verb, *others: Any, **more: Any) -> None:
    """Let the engine of one server have other limits."""
    limits = more.get("limits")
    if limits and stream._host.name == ODD and limits["max_msgs"] == KEPT:
        more["limits"] = {**limits, "max_msgs": KEPT_THERE}
    _ask(stream, verb, *others, **more)


Stream._ask = ask  # type: ignore[method-assign]
