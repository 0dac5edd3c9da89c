"""Fields that most monitoring documents begin with: `server_id`, `now`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.spec.formats import time_text

if TYPE_CHECKING:
    from framework.monitor.source import MonitorSource


def head(source: MonitorSource) -> dict[str, object]:
    """Return who answers, and when."""
    now_ns = source.wall_ns(source.monotonic_ns())
    return {"server_id": source.server_id, "now": time_text(now_ns)}
