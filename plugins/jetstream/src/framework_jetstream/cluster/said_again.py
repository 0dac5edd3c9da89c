"""What the meta group's log says again after a start: all of it is heard before any of it is done.

An asset may have left this server and come back: whoever took the entries one by one would delete
what came back, or found anew what others have by now. What was committed before the start counts
as one: of each asset what it comes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from framework_jetstream.meta.effects import ChangeAsset, StartAsset, StopAsset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from framework_jetstream.meta.assignments import Asset
    from framework_jetstream.meta.view import GroupState

AssetEffect: TypeAlias = StartAsset | ChangeAsset | StopAsset


class SaidAgain:
    """Lets effects pass when all is applied that was committed before this server was started.

    Args:
        perform: Takes an effect, and the index of its entry; 0: of a state of many.
    """

    def __init__(self, perform: Callable[[AssetEffect, int], object]) -> None:
        self._perform = perform
        self._through: int | None = None
        self._held: list[tuple[AssetEffect, int]] | None = []
        """None: all has passed."""

    @property
    def is_over(self) -> bool:
        """Whether what is said now happens now."""
        return self._held is None

    def take(self, effect: AssetEffect, index: int) -> None:
        """Let an effect pass, now or later."""
        if self._held is None:
            self._perform(effect, index)
        else:
            self._held.append((effect, index))

    def take_state(self, state: GroupState) -> None:
        """Hear how the meta group is here.

        With an entry of the leader's own term the log has all that was committed before it.
        """
        if self._held is None:
            return
        if self._through is None and state.leader and state.last_term == state.term:
            self._through = state.last_index
        if self._through is None or state.applied < self._through:
            return
        held, self._held = self._held, None
        for effect, index in come_to(held):
            self._perform(effect, index)


def come_to(said: Sequence[tuple[AssetEffect, int]]) -> Iterator[tuple[AssetEffect, int]]:
    """Yield what effects come to: of what is taken away and given back, that it is here."""
    runs: dict[Asset, str] = {}
    began: dict[Asset, int] = {}
    for at, (effect, _) in enumerate(said):
        match effect:
            case StartAsset():
                runs[effect.asset], began[effect.asset] = effect.group.name, at
            case StopAsset():
                runs[effect.asset] = ""
    for at, (effect, index) in enumerate(said):
        group = runs.get(effect.asset)
        if isinstance(effect, StopAsset):
            holds = effect.group_name != group
        else:
            holds = group != "" and at >= began.get(effect.asset, 0)
        if holds:
            yield effect, index
