"""A plugin that lets the server n3 keep fewer messages than a stream is to have, as a version might
that decides otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from framework_jetstream.stream.stream import Stream

if TYPE_CHECKING:
    from framework_jetstream.engine.verbs import Verb

ODD = "n3"
KEPT, KEPT_THERE = 5, 3
"""`max_msgs`, as it is configured, and what that server makes of it."""
WELL = "well"
"""With such a file above its store it decides as all others."""

_ask = Stream._ask


def ask(stream: Stream, verb: Verb, *others: Any, **more: Any) -> None:
    """Let the engine of one server have other limits."""
    limits = more.get("limits")
    folders = Path(stream._host.config.store_dir).parents
    is_odd = stream._host.name == ODD and not any((it / WELL).exists() for it in folders)
    if limits and is_odd and limits["max_msgs"] == KEPT:
        more["limits"] = {**limits, "max_msgs": KEPT_THERE}
    _ask(stream, verb, *others, **more)


Stream._ask = ask  # type: ignore[method-assign]
