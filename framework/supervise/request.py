"""Requests to servers that run: reload, reopen, drain, stop and start, and what came of them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.supervise.machine import Phase

if TYPE_CHECKING:
    from framework.supervise.row import ServerRow


class Verb(Enum):
    """What is asked of a server."""

    RELOAD = "reload"
    """Read the configuration again: SIGHUP."""
    REOPEN = "reopen"
    """Open the log file again, after it was moved away: SIGUSR1."""
    DRAIN = "drain"
    """Enter lame duck mode, and stay down after it: SIGUSR2."""
    STOP = "stop"
    """End in order, and stay down: SIGTERM."""
    START = "start"
    """Run again, after a stop, a drain or a failure for good."""


class Answer(Struct, frozen=True, tag=True):
    """What one server did."""

    server: str
    ok: bool
    text: str
    """A predicate: `reloaded: max_payload`."""


class Asked(Struct, frozen=True):
    """A request, and how the server stood when it came."""

    verb: Verb
    pid: int | None
    reloads: int

    @classmethod
    def of(cls, verb: Verb, row: ServerRow) -> Asked:
        """Note how a server stands."""
        return cls(verb, row.pid, row.report.reload.count if row.report.reload else 0)

    def answer(self, row: ServerRow) -> Answer | None:
        """Return what came of the request; None: nothing yet.

        Args:
            row: How the server stands now.
        """
        found = _OUTCOMES[self.verb](self, row)
        return None if found is None else Answer(row.name, *found)


def _reload(asked: Asked, row: ServerRow) -> tuple[bool, str] | None:
    if row.phase is Phase.WAITING:
        return True, "is down, and reads its configuration when it is launched again"
    if row.phase not in {Phase.STARTING, Phase.READY}:
        return False, f"is {row.phase.value}, and reloads nothing"
    if row.pid != asked.pid:
        return False, "was launched again before it answered"
    report = row.report.reload
    if report is None or report.count <= asked.reloads:
        return None
    return not report.error, report.text


def _reopen(_: Asked, row: ServerRow) -> tuple[bool, str] | None:
    if not row.phase.has_process:
        return False, f"is {row.phase.value}, and has no log open"
    return True, "was told to reopen its log"


def _drain(_: Asked, row: ServerRow) -> tuple[bool, str] | None:
    if row.phase is Phase.DRAINING and row.report.lame_duck:
        return True, "drains, and stops when its clients are gone"
    return _stop(_, row)


def _stop(_: Asked, row: ServerRow) -> tuple[bool, str] | None:
    return (True, "is stopped") if row.phase.is_final else None


def _start(_: Asked, row: ServerRow) -> tuple[bool, str] | None:
    match row.phase:
        case Phase.READY:
            return True, f"is ready, pid {row.pid}"
        case Phase.WAITING | Phase.FAILED:
            return False, f"is down: {row.problem}"
        case Phase.STARTING | Phase.STOPPED:
            return None
        case _:
            return False, f"is {row.phase.value}"


_OUTCOMES = {
    Verb.RELOAD: _reload,
    Verb.REOPEN: _reopen,
    Verb.DRAIN: _drain,
    Verb.STOP: _stop,
    Verb.START: _start,
}
