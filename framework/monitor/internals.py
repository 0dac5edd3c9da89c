"""`/stacksz` and `/ipqueuesz`: stack dumps and queue lengths, for debugging.

Source: nats-server `monitor.go`, `HandleStacksz` and `Ipqueuesz`; theirs tell of Go.
"""

from __future__ import annotations

import sys
import threading
import traceback
from typing import TYPE_CHECKING

from framework.monitor.answers import Text
from framework.spec.query import read_bool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.monitor.source import MonitorSource


async def answer_stacksz(_query: Mapping[str, str]) -> object:
    """Return where each thread of Python stands; the threads of the data plane run none."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way
        lines = "".join(traceback.format_stack(frame))
        parts.append(f"thread {ident} {names.get(ident, '')}:\n{lines}")
    return Text("\n".join(parts))


async def answer_ipqueuesz(source: MonitorSource, query: Mapping[str, str]) -> object:
    """Return how much waits in the mailbox of each component; without `all`, where any does.

    Raises:
        BadQuery: A value makes no sense.
    """
    has_all, wanted = read_bool(query, "all"), query.get("queues", "")
    return {
        name: {"pending": pending}
        for name, pending in source.mailboxes().items()
        if (has_all or pending) and wanted in name
    }
