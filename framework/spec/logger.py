"""The logger that plugins are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

__all__ = ["FilteringBoundLogger"]


class Logger(Protocol):
    """structlog's `FilteringBoundLogger`, as far as a server's logger has it.

    The event is a fixed text; what varies are its fields, of which those named in it as `{name}`
    are filled in: `log.info("Order {order} came", order=7)`.
    """

    def debug(self, event: str, **fields: object) -> None:
        """Write a line that is shown only with `debug`."""
        ...

    def info(self, event: str, **fields: object) -> None:
        """Write a line."""
        ...

    def warning(self, event: str, **fields: object) -> None:
        """Log a warning: an operator should look."""
        ...

    def error(self, event: str, **fields: object) -> None:
        """Log an error: an operator must act."""
        ...

    def exception(self, event: str, **fields: object) -> None:
        """Write an error with the traceback of the exception that is being handled."""
        ...

    def critical(self, event: str, **fields: object) -> None:
        """Log a fatal error, which ends the server."""
        ...

    def bind(self, **fields: object) -> Logger:
        """Return a logger whose lines all have these fields."""
        ...


if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger
else:
    # structlog itself is not imported: that is a twentieth of a server's start.
    FilteringBoundLogger = Logger
