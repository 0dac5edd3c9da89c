"""The root of the tree of errors, and those that belong to no room.

An error is what the world can cause; what only a bug can break is asserted instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

if TYPE_CHECKING:
    from framework.wire.closed_state import ClosedState


__all__ = [
    "BadOptions",
    "BadQuery",
    "DownloadRefused",
    "FrameworkError",
    "NoAnswer",
    "PluginError",
    "ProtocolError",
]


class FrameworkError(Exception):
    """Root of all errors of this package; catching it catches every one of them."""


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

    @override
    def __str__(self) -> str:
        origin = f" ({self.origin})" if self.origin else ""
        return f"plugin {self.plugin}{origin}: {self.problem}" + (
            f"; {self.fix}" if self.fix else ""
        )


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


class BadQuery(FrameworkError):  # noqa: N818 - HTTP's own word
    """The query of a monitoring request makes no sense; it is answered with status 400."""


class BadOptions(BadQuery):
    """The JSON of a `$SYS` request can't be read; it is answered with error 400."""


class DownloadRefused(FrameworkError):  # noqa: N818 - as answers of logins are called
    """Nothing can be downloaded.

    Args:
        status: Of HTTP: 401 asks for a login, 403 and 404 say no, 503 says later.
        text: Why, for whoever asked.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text

    @override
    def __str__(self) -> str:
        return f"{self.status} {self.text}"


class NoAnswer(BadQuery):
    """A request that all servers get is for others; it is not answered, or by HTTP with 400."""
