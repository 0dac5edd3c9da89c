"""Every error that the world can cause, as one tree; what only a bug can break is asserted instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.wire.closed_state import ClosedState


class FrameworkError(Exception):
    """Root of all errors of this package; catching it catches every one of them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands, as exactly as its format lets us know."""

    file: str
    line: int = 0
    """1-based; 0: not known."""
    column: int = 0
    """1-based, in characters; 0: not known."""
    key: str = ""
    """Path of keys, such as `cluster.port`; what is left where a format keeps no lines."""

    def __str__(self) -> str:
        numbers = [str(number) for number in (self.line, self.column) if number]
        position = ":".join([self.file, *numbers])
        return position if self.line or not self.key else f"{position}: {self.key}"


class TopologyError(FrameworkError):
    """Something is wrong in a topology, a configuration file or a flag.

    Args:
        place: Where it stands; None when no file is concerned.
        problem: What is wrong, in one clause without a full stop.
        fix: What to write instead; may be empty.
    """

    def __init__(self, place: Place | None, problem: str, fix: str = "") -> None:
        super().__init__(place, problem, fix)
        self.place = place
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.problem}" + (f"; {self.fix}" if self.fix else "")


class TopologyErrors(FrameworkError):
    """All that is wrong with one topology, so that it is mended in one go.

    Args:
        errors: At least one, in the order in which they should be shown.
    """

    def __init__(self, errors: Iterable[TopologyError]) -> None:
        self.errors = tuple(errors)
        assert self.errors
        super().__init__(self.errors)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


class PluginError(FrameworkError):
    """A plugin can't be loaded, breaks the contract of a hook, or claims what is another's.

    Args:
        plugin: Its name.
        problem: What is wrong, in one clause without a full stop.
        origin: Where the plugin came from; empty when that is not known or no help.
        fix: What to do about it; may be empty.
    """

    def __init__(self, plugin: str, problem: str, *, origin: str = "", fix: str = "") -> None:
        super().__init__(plugin, problem, origin, fix)
        self.plugin = plugin
        self.problem = problem
        self.origin = origin
        self.fix = fix

    def __str__(self) -> str:
        origin = f" ({self.origin})" if self.origin else ""
        return f"plugin {self.plugin}{origin}: {self.problem}" + (f"; {self.fix}" if self.fix else "")


class ProtocolError(FrameworkError):
    """A peer sent what its protocol does not allow; its connection ends.

    Args:
        detail: What was wrong, for the log; printable.
        text: What `-ERR` tells the peer, without quotes.
        reason: What the connection is closed with.
    """

    def __init__(self, detail: str, *, text: str, reason: ClosedState) -> None:
        super().__init__(detail)
        self.text = text
        self.reason = reason


class BadQuery(FrameworkError):  # noqa: N818 - the condition's name, as HTTP says it
    """The query of a monitoring request makes no sense; it is answered with status 400."""
