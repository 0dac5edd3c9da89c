"""Write log lines that machines note as effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_gateway.effect import Level

if TYPE_CHECKING:
    from framework.spec.logger import FilteringBoundLogger
    from framework_gateway.effect import Noted, NotedOf


def write_note(log: FilteringBoundLogger, note: Noted | NotedOf) -> None:
    """Write what a machine noted; `log` knows which connection it is about."""
    match note.level:
        case Level.DEBUG:
            log.debug(note.event, **note.fields)
        case Level.INFO:
            log.info(note.event, **note.fields)
        case Level.WARNING:
            log.warning(note.event, **note.fields)
        case Level.ERROR:
            log.error(note.event, **note.fields)
