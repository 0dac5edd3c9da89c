"""Reload: whether a running server can take another configuration, and which options changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from framework.errors import FrameworkError
from framework.spec.formats import duration_text
from framework.topology import Kind, TopologyErrors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.topology import Change, ConfigDiff, Option, ServerConfig, TopologyError

_NAMES: Final = {
    "authorization.user": "authorization username",
    "authorization.password": "authorization password",
    "authorization.token": "authorization token",
    "authorization.timeout": "authorization timeout",
    "authorization.users": "authorization users",
    "logfile": "log_file",
    "server_metadata": "metadata",
    "server_tags": "tags",
}
"""Options that nats-server's log calls by another name."""

_UNSHOWN: Final = frozenset({"accounts", "metadata", "tags"})
"""Those whose new value its log leaves out. Source: nats-server `reload.go`."""

_NS_PER_S: Final = 1_000_000_000


class ReloadOutcome(Struct, frozen=True):
    """Result of the last reload."""

    count: int = 0
    """Reloads so far, refused ones included."""
    error: str = ""
    """Why it was refused; empty: it was not."""
    options: tuple[str, ...] = ()
    """Dotted paths of what has changed."""

    def next(self, error: str, changes: Sequence[Change]) -> ReloadOutcome:
        """Return the outcome of the reload that follows this one."""
        return ReloadOutcome(self.count + 1, error, tuple(change.path for change in changes))


class ReloadImpossible(FrameworkError):  # noqa: N818 - says what happened
    """The server has no configuration file to reload, or does not run.

    Args:
        problem: Why; a clause without a full stop.
    """


class ReloadRefused(FrameworkError):  # noqa: N818 - says what happened
    """A changed option needs a restart; the configuration in force stays.

    Args:
        options: Their dotted paths.
    """

    def __init__(self, options: Sequence[str]) -> None:
        super().__init__(tuple(options))
        self.options = tuple(options)

    @override
    def __str__(self) -> str:
        return f"config reload not supported for {', '.join(self.options)}; restart the server"


def refuse_if_any(diff: ConfigDiff, found: Sequence[TopologyError]) -> None:
    """Refuse changes that can't be followed.

    Args:
        diff: What has changed.
        found: What plugins have against it.

    Raises:
        ReloadRefused: An option needs a restart.
        TopologyErrors: A plugin has something against it.
    """
    refused = [change.path for change in diff.restart]
    if refused:
        raise ReloadRefused(refused)
    if found:
        raise TopologyErrors(found)


def log_changes(log: FilteringBoundLogger, config: ServerConfig, changes: Sequence[Change]) -> None:
    """Log changed options as nats-server does, except those without effect."""
    for change in changes:
        option = config.schema.option(change.path)
        if option is None or option.inert:
            continue
        name = _NAMES.get(change.path, change.path)
        shown = shown_change(option, change)
        if name in _UNSHOWN or shown is None:
            log.info("Reloaded: {option}", option=name)
        else:
            log.info("Reloaded: {option} = {detail}", option=name, detail=shown)


def shown_change(option: Option, change: Change) -> str | None:
    """Return the new value of an option; None: it may hold a secret, or is too long to show."""
    value = change.new
    if option.secret or option.kind in {Kind.BLOCK, Kind.BLOCKS, Kind.FREE}:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if option.kind is Kind.DURATION and isinstance(value, int | float):
        return duration_text(round(value * _NS_PER_S))
    return str(value)
