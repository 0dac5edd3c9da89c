"""What applying an entry makes this server do.

Effects are carried out in their order. After a restart they are said again, from the snapshot of
the log on, and an asset may have left this server and come back to it: so they are carried out when
all are known, as what they come to (`cluster/said_again.py`).
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from framework_jetstream.meta.assignments import (  # noqa: TC001 - fields of records
    Asked,
    Asset,
    Group,
)


class Outcome(Enum):
    """What came of a proposal."""

    DONE = "done"
    EXISTS = "exists"
    """There is one of that name, which is another one."""
    GONE = "gone"
    """What it is about is not there, or not any more."""
    CHANGED = "changed"
    """It was a change of something that has changed since."""
    SAME = "same"
    """It was done already."""
    HELD = "held"
    """It is about something that only a newer version knows."""


class StartAsset(Struct, frozen=True):
    """Run an asset here: its group, and what the group is for."""

    index: int
    """Of the entry that says so."""
    asset: Asset
    group: Group
    created_ns: int
    config: bytes
    level: int
    asked: Asked | None = None
    may_have_been: bool = False
    """It may have been here before, in a store that is lost since: this server founds nothing."""


class ChangeAsset(Struct, frozen=True):
    """Follow another configuration, or a group of other members.

    Who leads the group brings its members to those of `group.target`, or else of `group.peers`.
    """

    asset: Asset
    group: Group
    created_ns: int
    config: bytes
    level: int
    reply: str = ""
    """Where who leads it answers; empty: nobody waits."""


class Why(Enum):
    """Why an asset does not run here any more."""

    REMOVED = "removed"
    """An entry says so: its data may go."""
    MOVED = "moved"
    """Others have it: its data may go."""
    OFFLINE = "offline"
    """This version does not know it: its data stays where it is."""
    NOT_ASSIGNED = "not assigned"
    """A snapshot does not know it: its data goes to `lost+found`, and stays."""


class StopAsset(Struct, frozen=True):
    """Run an asset here no more."""

    index: int
    """Of the entry that says so."""
    asset: Asset
    group_name: str
    why: Why
    detail: str = ""
    """For people; where data stays or is set aside."""

    @property
    def may_delete(self) -> bool:
        """Whether its data may go."""
        return self.why in _CERTAIN


_CERTAIN: Final = frozenset({Why.REMOVED, Why.MOVED})


class Answer(Struct, frozen=True):
    """Tell who has proposed an entry from here what came of it."""

    number: int
    outcome: Outcome
    index: int


class ServerPut(Struct, frozen=True):
    """A server belongs to the group."""

    peer: str
    is_new: bool


class ServerRemoved(Struct, frozen=True):
    """A server belongs to the group no more; the meta leader says so by an advisory."""

    peer: str
    name: str
    cluster: str
    is_here: bool
    """It is this one: JetStream ends here, and keeps its data."""


class Confirmed(Struct, frozen=True):
    """All that was committed before this server was started is applied: who leads has said so.

    What this server has without an assignment now is nobody's. Said once, by no entry.
    """


Effect: TypeAlias = StartAsset | ChangeAsset | StopAsset | Answer | ServerPut | ServerRemoved
