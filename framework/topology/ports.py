"""Assign ports to the servers of a topology.

A port that a server says itself is its own. A port of a whole cluster or of `defaults`, or
none at all, is where counting begins: servers in the order of the file get the next one that
nobody on the same host has. Nothing is probed, so every host works out the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from framework.topology.core_options import HTTP_BASE_PORT
from framework.topology.limits import PORT_MAX
from framework.topology.planner import Derived, PortSlot
from framework.topology.units import join_address, listen_from_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.topology.errors import Mistakes
    from framework.topology.node import Node
    from framework.topology.place import Place
    from framework.topology.planner import DraftServer, TopologyPlanner

__all__ = ["ANY_PORT", "LOOPBACK", "all_slots", "assign_ports", "is_wildcard"]


LOOPBACK = "127.0.0.1"
ANY_PORT = -1
"""What a file says for any free port."""


_CLIENT: Final = PortSlot(name="client", base=4222, is_needed=lambda _server, _servers: True)
_MONITORING: Final = PortSlot(
    name="monitoring", listen="http", port="http_port", base=HTTP_BASE_PORT
)


def all_slots(planners: Iterable[TopologyPlanner]) -> tuple[PortSlot, ...]:
    """Return the slots of the core and of plugins, in the order in which ports are assigned."""
    return (_CLIENT, *(slot for planner in planners for slot in planner.slots), _MONITORING)


def is_wildcard(host: str) -> bool:
    """Tell whether a host means every address of the machine."""
    return host in {"", "0.0.0.0", "::"}  # noqa: S104 -- compared, not bound


class Said(NamedTuple):
    """What settings say of one slot."""

    host: str | None
    port: int | None
    place: Place
    is_clear: bool
    """Whether it can be understood; if not, reading the option reports it."""


def said_address(settings: Node, slot: PortSlot) -> Said:
    """Return the host and port that some settings give for a slot, and where they stand."""
    table = settings.value if isinstance(settings.value, dict) else {}
    if slot.block:
        inner = table.get(slot.block)
        table = inner.value if inner and isinstance(inner.value, dict) else {}
    host: str | None = None
    port: int | None = None
    place, is_clear = settings.place, True
    for key, node in table.items():
        text = str(node.value)
        if key == "host" and slot.port == "port":
            host = text
        elif key in {slot.listen, slot.port}:
            try:
                said_host, said_port = listen_from_text(text)
            except ValueError:
                is_clear = False
                continue
            host, port, place = said_host or host, said_port or port, node.place
    return Said(host, port, place, is_clear)


class Ports:
    """Assign ports, and refuse duplicates.

    Args:
        mistakes: Where to note what is wrong.
    """

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._taken: dict[int, list[tuple[str, str]]] = {}

    def take(self, host: str, port: int, owner: str, place: Place) -> None:
        """Give out the port that a server asks for by itself."""
        other = self._owner(host, port)
        if other:
            address = join_address(host, port)
            self._mistakes.add(place, f"the {owner} cannot have {address}, it is the {other}'s")
        self._taken.setdefault(port, []).append((host, owner))

    def count_up(self, host: str, base: int, owner: str, place: Place) -> int:
        """Give out the next port from a base on that is free."""
        port = base
        while self._owner(host, port):
            port += 1
        if port > PORT_MAX:
            self._mistakes.add(place, f"no port is left for the {owner}, counting from {base}")
            return base
        self._taken.setdefault(port, []).append((host, owner))
        return port

    def _owner(self, host: str, port: int) -> str | None:
        for other, owner in self._taken.get(port, ()):
            if other == host or is_wildcard(other) or is_wildcard(host):
                return owner
        return None


def assign_ports(
    servers: Sequence[DraftServer], slots: Iterable[PortSlot], mistakes: Mistakes
) -> tuple[list[DraftServer], list[Derived]]:
    """Give every server of a topology the ports that the file leaves open.

    Args:
        servers: In the order of the file.
        slots: Kinds of ports; earlier ones get theirs first.
        mistakes: Where to note what is wrong.

    Returns:
        The servers with their addresses, and the ports that the file does not say.
    """
    ports = Ports(mistakes)
    found: dict[str, dict[str, tuple[str, int]]] = {server.name: {} for server in servers}
    counting: list[tuple[DraftServer, PortSlot, str, int]] = []
    for slot in slots:
        for server in servers:
            if not slot.is_of(server, servers):
                continue
            said = said_address(server.settings, slot)
            if not said.is_clear:
                continue
            host = said.host or said_address(server.settings, _CLIENT).host or LOOPBACK
            is_shared = said_address(server.own, slot).port is None
            if said.port is None or (is_shared and said.port != ANY_PORT):
                counting.append((server, slot, host, said.port or slot.base))
                continue
            found[server.name][slot.name] = (host, said.port)
            if said.port != ANY_PORT:
                owner = f"{slot.name} port of {server.name}"
                ports.take(host, said.port, owner, said.place)
    derived: list[Derived] = []
    for server, slot, host, base in counting:
        port = ports.count_up(host, base, f"{slot.name} port of {server.name}", server.place)
        found[server.name][slot.name] = (host, port)
        derived.append(Derived(server, f"{slot.block}.{slot.port}".lstrip("."), port))
    return [replace(server, addresses=found[server.name]) for server in servers], derived
