"""Registry of the living actors of one system; pykka's own is one for the whole process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.actors.errors import SpawnRefusedError

if TYPE_CHECKING:
    from framework.actors.reference import ActorRef


class Registry:
    """Look living actors up by name; callable from any thread."""

    def __init__(self) -> None:
        self._refs: dict[str, ActorRef[Any]] = {}

    def __len__(self) -> int:
        """Return how many actors live."""
        return len(self._refs)

    def add(self, ref: ActorRef[Any]) -> None:
        """Enter an actor.

        Raises:
            SpawnRefusedError: a living actor has its name.
        """
        if self._refs.setdefault(ref.name, ref) is not ref:
            raise SpawnRefusedError(f"an actor is named {ref.name} already")

    def remove(self, ref: ActorRef[Any]) -> None:
        """Forget an actor; nothing happens when it is not there."""
        self._refs.pop(ref.name, None)

    def get_all(self) -> list[ActorRef[Any]]:
        """Return all living actors in order of start."""
        return list(self._refs.values())

    def get_by_name(self, name: str) -> ActorRef[Any] | None:
        """Return the living actor with this name."""
        return self._refs.get(name)
