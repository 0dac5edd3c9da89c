"""What the servers of the cluster have told in fields of INFO that are not those of routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework_route.effect import FieldsTold

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from framework.wire.info import RouteInfo


class ToldFields:
    """The fields of each server that is here, so that plugins hear of changes alone.

    It outlives a restart of the mesh: plugins hear then, too, that fields are gone.
    """

    def __init__(self) -> None:
        self._told: dict[str, RouteInfo] = {}
        """By server ID; servers without fields are not there."""

    def learn(self, info: RouteInfo) -> Sequence[FieldsTold]:
        """Take what a server says; return what is new of it."""
        before = self._told.get(info.server_id)
        if not info.others and before is None:
            return []
        if before is not None and (before.others, before.ldm) == (info.others, info.ldm):
            return []
        if info.others:
            self._told[info.server_id] = info
        else:
            del self._told[info.server_id]
        return [FieldsTold(info)]

    def forget_all_but(self, server_ids: Container[str]) -> Sequence[FieldsTold]:
        """Take note of who is still here; return that the fields of others are gone."""
        gone = [info for name, info in self._told.items() if name not in server_ids]
        for info in gone:
            del self._told[info.server_id]
        return [FieldsTold(replace(info, others={})) for info in gone]
