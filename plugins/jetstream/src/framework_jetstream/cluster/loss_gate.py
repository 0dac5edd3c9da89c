"""What may have been here before: assets of a server whose store has lost something.

A group that other servers have may be founded by who never had it. Who has had it, and forgotten
that, must not (`raft/_losses.pyx`). So a server that may have lost groups founds none that is
assigned by an entry before the *barrier* of the meta group: an entry that was proposed after its
leader had heard of the loss. Until that is known nothing is begun here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework_jetstream.meta.effects import StartAsset

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_jetstream.meta.effects import ChangeAsset, StopAsset
    from framework_jetstream.meta.founding import Memory
    from framework_jetstream.meta.view import GroupState


class LossGate:
    """Lets effects pass, or wait until it is known what they mean.

    Args:
        perform: Carries an effect out.
    """

    def __init__(self, perform: Callable[[StartAsset | ChangeAsset | StopAsset], object]) -> None:
        self._perform = perform
        self._has_lost = False
        self._through: int | None = None
        """Entries up to this index may be about what was here before; None: it is not known."""
        self._waiting: list[tuple[StartAsset | ChangeAsset | StopAsset, int]] = []

    def use(self, memory: Memory) -> None:
        """Take up whether something may be lost here."""
        if memory.has_lost and not self._has_lost:
            self._through = None
        self._has_lost = memory.has_lost

    def take(self, effect: StartAsset | ChangeAsset | StopAsset, index: int) -> None:
        """Let an effect of the entry of an index pass, 0: of a state of many; now or later."""
        if self._has_lost and self._through is None:
            self._waiting.append((effect, index))
            return
        may_have_been = self._has_lost and index <= (self._through or 0)
        if isinstance(effect, StartAsset) and may_have_been:
            effect = replace(effect, may_have_been=True)
        self._perform(effect)

    def take_state(self, state: GroupState) -> None:
        """Hear how the meta group is here."""
        if not self._has_lost or self._through is not None or state.is_lost:
            return
        self._through = state.barrier or state.last_index
        waiting, self._waiting = self._waiting, []
        for effect, index in waiting:
            self.take(effect, index)

    def is_passed(self, state: GroupState) -> bool:
        """Return whether all is applied here that may be about what was here before."""
        through = self._through
        is_known = self._has_lost and through is not None and bool(state.leader)
        return is_known and state.applied >= max(through or 0, state.commit)
