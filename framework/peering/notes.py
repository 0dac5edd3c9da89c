"""Lines of the log that machines note as effects."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from msgspec import Struct, field

from framework.dataplane.link import LinkId
from framework.spec.logger import FilteringBoundLogger


class Level(IntEnum):
    """How much a line of the log matters, in the numbers of `logging`."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


class Noted(Struct, frozen=True):
    """Write a line to the log."""

    level: Level
    event: str
    """A fixed text; `{name}` stands for the field of that name."""
    fields: Mapping[str, object] = field(default_factory=dict)


class NotedOf(Struct, frozen=True):
    """Write a line about one connection to the log."""

    link: LinkId
    level: Level
    event: str
    fields: Mapping[str, object] = field(default_factory=dict)


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
