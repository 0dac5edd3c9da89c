"""Order servers so that replicas go to different zones, and to the cheapest servers there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

from framework_jetstream.placement.records import NoPlacement
from msgspec import Struct

from framework import hookimpl
from framework.topology import Setting, section_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework_jetstream.placement.records import PlacementRequest, PlacementServer

    from framework.spec import ServerContext
    from framework.topology import ConfigSection


def _no_prefix(tag: str) -> str | None:
    return None if tag and tag == tag.lower() else "is empty or not in lower case, as tags are"


class ZonesConfig(Struct, frozen=True):
    zone_tag: Annotated[
        str, Setting(help="Beginning of the tag that names a server's zone", check=_no_prefix)
    ] = "az:"
    cost_tag: Annotated[
        str, Setting(help="Beginning of the tag with a server's cost", check=_no_prefix)
    ] = "cost:"
    strict: Annotated[bool, Setting(help="Never place two replicas in one zone")] = False


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(ZonesConfig, name="zones", help="Place replicas of streams by zone and cost")


@hookimpl(optionalhook=True)
def framework_jetstream_placement(server: ServerContext) -> Zones | None:
    config = server.config.section_as(ZonesConfig)
    return Zones(config) if config else None


class Zones:
    """Takes, again and again, the cheapest server of the zones that have the fewest replicas."""

    def __init__(self, config: ZonesConfig) -> None:
        self._config = config

    def order(
        self,
        request: PlacementRequest,
        candidates: Sequence[PlacementServer],
        existing: Sequence[PlacementServer],
    ) -> Sequence[PlacementServer]:
        replicas = Counter(self._zone(it) for it in existing)
        left = [it for it in candidates if self._zone(it)]
        ordered: list[PlacementServer] = []
        while left:  # `min` takes the first of equals: nats-server's order decides
            best = min(
                left, key=lambda it: (not it.is_online, replicas[self._zone(it)], self._cost(it))
            )
            if self._config.strict and replicas[self._zone(best)]:
                left.remove(best)
                continue
            replicas[self._zone(best)] += 1
            ordered.append(best)
            left.remove(best)
        if len(ordered) < request.replicas - len(request.existing):
            wanted = f"{request.replicas} replicas in zones"
            raise NoPlacement(f"no suitable peers for placement, {wanted}: {len(ordered)} found")
        return ordered

    def _zone(self, server: PlacementServer) -> str:
        return self._tag(server, self._config.zone_tag)

    def _cost(self, server: PlacementServer) -> float:
        try:
            return float(self._tag(server, self._config.cost_tag))
        except ValueError:  # it has no such tag, or a wrong one: the last to be taken
            return float("inf")

    @staticmethod
    def _tag(server: PlacementServer, prefix: str) -> str:
        return next((it.removeprefix(prefix) for it in server.tags if it.startswith(prefix)), "")
