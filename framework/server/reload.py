"""What differs between two configurations, and whether a running server can follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from framework.errors import FrameworkError
from framework.topology import Reload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.topology import Option, ServerConfig


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


@dataclass(frozen=True, slots=True)
class Change:
    """One option of the top level that is not what it was."""

    option: str
    old: object
    new: object
    """As shown in the log; a secret is not."""
    is_live: bool


def changes_between(old: ServerConfig, new: ServerConfig) -> Sequence[Change]:
    """Return all options that differ, in the order of their definition."""
    changes = []
    for option in new.schema.root.options:
        before, after = old.values.get(option.name), new.values.get(option.name)
        if before != after:
            changes.append(_change(option, before, after))
    return changes


def refuse_if_any(changes: Sequence[Change]) -> None:
    """Refuse changes that can't be followed.

    Raises:
        ReloadRefused: There is one.
    """
    refused = [change.option for change in changes if not change.is_live]
    if refused:
        raise ReloadRefused(refused)


def _change(option: Option, before: object, after: object) -> Change:
    shown = "(secret)" if option.secret else after
    return Change(option.name, before, shown, is_live=option.reload is Reload.LIVE)
