"""Whether this process ends at once when its work is done, or has to wait for threads."""

from __future__ import annotations

import threading


def ends_at_once() -> bool:
    """Return whether no thread but the main one keeps the process from ending."""
    others = (it for it in threading.enumerate() if it is not threading.main_thread())
    return all(thread.daemon for thread in others)
