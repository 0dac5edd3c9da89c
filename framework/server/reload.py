"""Whether a running server can follow another configuration, and what it says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.errors import FrameworkError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.topology import Change, ConfigDiff, Option


class ReloadRefused(FrameworkError):  # noqa: N818 - says what happened
    """A changed option needs a restart; nothing was changed.

    Args:
        options: Their dotted paths.
    """

    def __init__(self, options: Sequence[str]) -> None:
        super().__init__(tuple(options))
        self.options = tuple(options)

    @override
    def __str__(self) -> str:
        return f"config reload not supported for {', '.join(self.options)}; restart the server"


def refuse_if_any(diff: ConfigDiff) -> None:
    """Refuse changes that can't be followed.

    Raises:
        ReloadRefused: There is one.
    """
    refused = [change.path for change in diff.restart]
    if refused:
        raise ReloadRefused(refused)


def shown_change(option: Option, change: Change) -> str:
    """Return the new value of an option, as nats-server logs it; a secret is not shown."""
    if option.secret:
        return "(secret)"
    return str(change.new).lower() if isinstance(change.new, bool) else str(change.new)
