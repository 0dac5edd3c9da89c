"""What a plugin shows on the monitoring port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorEndpoint:
    """One path of the monitoring port, answered in JSON."""

    path: str
    """With its slash, such as `/routez`."""
    answer: Callable[[Mapping[str, str]], Awaitable[object]]
    """Takes the query of the URL; returns what `json.dumps` takes; may raise `BadQuery`."""
    help: str
    """One line for the index page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """One reason for which `/healthz` may say that the server is not well."""

    name: str
    check: Callable[[], str | None]
    """Answers at once, from what is known already: None when all is well, else what is wrong."""
