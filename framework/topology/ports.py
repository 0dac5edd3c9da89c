"""Assign ports to the servers of a topology.

A port that a server says itself is its own. A port of a whole cluster or of `defaults`, or
none at all, is where counting begins: servers in the order of the file get the next one that
nobody on the same host has. Nothing is probed, so every host works out the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from framework.topology.core_options import HTTP_BASE_PORT
from framework.topology.limits import PORT_MAX
from framework.topology.units import join_address, listen_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.topology.errors import Mistakes
    from framework.topology.member import Member
    from framework.topology.node import Node
    from framework.topology.place import Place
    from framework.topology.schema import Schema

__all__ = ["ANY_PORT", "LOOPBACK", "SLOTS", "assign_ports", "is_wildcard"]


LOOPBACK = "127.0.0.1"
ANY_PORT = -1
"""What a file says for any free port."""


class Slot(Struct, frozen=True):
    """One kind of port that a server listens on."""

    name: str
    """What messages call it."""
    block: str
    """The block its options stand in; empty for the top level."""
    listen: str
    port: str
    """The options that set it: host and port together, and the port alone."""
    base: int
    """Where counting begins unless the file says."""


SLOTS = (
    Slot("client", "", "listen", "port", 4222),
    Slot("cluster", "cluster", "listen", "port", 6222),
    Slot("gateway", "gateway", "listen", "port", 7222),
    Slot("leafnode", "leafnodes", "listen", "port", 7422),
    Slot("monitoring", "", "http", "http_port", HTTP_BASE_PORT),
)


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


def said_address(settings: Node, slot: Slot) -> Said:
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


def assign_ports(members: Sequence[Member], schema: Schema, mistakes: Mistakes) -> None:
    """Give every server of a topology the ports that the file leaves open.

    Args:
        members: The servers, in the order of the file.
        schema: The options that exist; of absent blocks no port is assigned.
        mistakes: Where to note what is wrong.
    """
    ports = Ports(mistakes)
    counting: list[tuple[Member, Slot, str, int]] = []
    for slot in SLOTS:
        for member in members:
            if not _has_slot(member, slot, members, schema):
                continue
            said = said_address(member.settings, slot)
            if not said.is_clear:
                continue
            host = said.host or said_address(member.settings, SLOTS[0]).host or LOOPBACK
            is_shared = said_address(member.own, slot).port is None
            if said.port is None or (is_shared and said.port != ANY_PORT):
                counting.append((member, slot, host, said.port or slot.base))
                continue
            member.addresses[slot.name] = (host, said.port)
            if said.port != ANY_PORT:
                owner = f"{slot.name} port of {member.name}"
                ports.take(host, said.port, owner, said.place)
    for member, slot, host, base in counting:
        owner = f"{slot.name} port of {member.name}"
        port = ports.count_up(host, base, owner, member.own.key_place)
        member.addresses[slot.name] = (host, port)
        member.derive(slot.block, slot.port, port)


def _has_slot(member: Member, slot: Slot, members: Sequence[Member], schema: Schema) -> bool:
    """Tell whether a server listens on a kind of port."""
    if slot.block:
        grouped = slot.block == "cluster" and sum(m.cluster == member.cluster for m in members) > 1
        return schema.has_block(slot.block) and (grouped or member.has("", slot.block))
    return slot.name == "client" or member.has("", slot.port) or member.has("", slot.listen)
