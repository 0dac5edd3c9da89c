"""Registry of the living actors of one system; pykka's own is one for the whole process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pykka

from framework.actors.errors import SpawnRefusedError

if TYPE_CHECKING:
    from framework.actors.reference import ActorRef

A = TypeVar("A", bound=pykka.Actor)


class Registry:
    """Looks actors up, with the methods of pykka's registry; callable from any thread.

    Cost: O(1) by name, else O(living actors).
    """

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

    def get_by_class(self, actor_class: type[A]) -> list[ActorRef[A]]:
        """Return all living actors of this class or a subclass, in order of start."""
        return [ref for ref in self.get_all() if issubclass(ref.actor_class, actor_class)]

    def get_by_class_name(self, actor_class_name: str) -> list[ActorRef[Any]]:
        """Return all living actors whose class has this name, in order of start."""
        return [ref for ref in self.get_all() if ref.actor_class.__name__ == actor_class_name]

    def get_by_urn(self, actor_urn: str) -> ActorRef[Any] | None:
        """Return the living actor with this URN."""
        return next((ref for ref in self.get_all() if ref.actor_urn == actor_urn), None)

    def broadcast(
        self, message: object, target_class: str | type[pykka.Actor] | None = None
    ) -> None:
        """Tell `message` to all actors, or to those of a class given by itself or by its name."""
        if target_class is None:
            targets = self.get_all()
        elif isinstance(target_class, str):
            targets = self.get_by_class_name(target_class)
        else:
            targets = self.get_by_class(target_class)
        for ref in targets:
            ref.tell(message)
