"""Logger of a link whose socket was detached from the data plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from framework.spec import Detached


def log_of(
    log: FilteringBoundLogger, event: Detached, *, connection_id: str = ""
) -> FilteringBoundLogger:
    """Return a logger that names the connection; its number is called as its kind's by default."""
    host = f"[{event.host}]" if ":" in event.host else event.host
    fields = {
        "remote": f"{host}:{event.port}",
        connection_id or event.kind.names.connection_id: event.cid,
    }
    return log.bind(**fields)
