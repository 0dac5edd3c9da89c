"""`/stacksz` and `/ipqueuesz`: stack dumps and queue lengths, for debugging.

Source: nats-server `monitor.go`, `HandleStacksz` and `Ipqueuesz`; theirs tell of Go.
"""

from __future__ import annotations

import sys
import threading
import traceback
from typing import TYPE_CHECKING

from framework.monitor.answers import Text

if TYPE_CHECKING:
    from framework.monitor.options import IpqueueszOptions
    from framework.monitor.source import MonitorSource
    from framework.spec import NoOptions


async def answer_stacksz(_source: MonitorSource, _options: NoOptions) -> object:
    """Return where each thread of Python stands; the threads of the data plane run none."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way
        lines = "".join(traceback.format_stack(frame))
        parts.append(f"thread {ident} {names.get(ident, '')}:\n{lines}")
    return Text("\n".join(parts))


async def answer_ipqueuesz(source: MonitorSource, options: IpqueueszOptions) -> object:
    """Return how much waits in the mailbox of each component; without `all`, where any does."""
    return {
        name: {"pending": pending}
        for name, pending in source.mailboxes().items()
        if (options.all or pending) and options.filter in name
    }
