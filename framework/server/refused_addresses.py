"""Addresses that are refused at accept: what plugins declared, as tables of the data plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.server.listening import joined_address
from framework.spec.addresses import ADDRESS_RANGES_MAX, RefusedAddressesRow, packed_ranges

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.server.plane_port import ServerPlane
    from framework.spec import AddressRefused, RefusedAddresses


class _Table(Struct):
    number: int
    spec: RefusedAddresses
    ranges: set[bytes]
    """As the plane has them."""


class AddressRefusals:
    """Keep the tables of refused addresses, and log who was refused.

    Args:
        plane: Refuses them.
        log: The server's logger.
    """

    def __init__(self, plane: ServerPlane, *, log: FilteringBoundLogger) -> None:
        self._plane = plane
        self._log = log
        self._tables: dict[str, _Table] = {}

    def install(self, specs: Sequence[RefusedAddresses]) -> None:
        """Refuse what the plugins declared; once, before any port opens."""
        assert not self._tables
        for number, spec in enumerate(specs):
            self._tables[spec.name] = _Table(number, spec, set())
            self.change(spec.name, add=spec.ranges)

    def change(self, name: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> None:
        """Change a table; see `ServerContext.change_refused_addresses`."""
        table = self._tables[name]
        what = f"refused addresses {name}"
        wanted, unwanted = packed_ranges(what, tuple(add)), packed_ranges(what, tuple(remove))
        coming, going = wanted - table.ranges, (unwanted & table.ranges) - wanted
        count = len(table.ranges) + len(coming) - len(going)
        if count > ADDRESS_RANGES_MAX:
            raise ValueError(f"{what}: {count} ranges, at most {ADDRESS_RANGES_MAX} fit")
        table.ranges |= coming
        table.ranges -= going
        self._plane.refuse_addresses(table.number, table.spec.kinds, add=coming, remove=going)

    def rows(self) -> Sequence[RefusedAddressesRow]:
        """Return how the tables do."""
        return [
            RefusedAddressesRow(it.spec, len(it.ranges), self._plane.refused_count(it.number))
            for it in self._tables.values()
        ]

    def receive(self, event: AddressRefused) -> None:
        """Log a connection that was refused; the plane reports a few of them."""
        spec = next(it.spec for it in self._tables.values() if it.number == event.table)
        fields: dict[str, object] = {"missed": event.missed} if event.missed else {}
        self._log.info(
            "Refused {kind} connection from {address}: its address is refused by {detail}",
            kind=event.kind.name.lower(),
            address=joined_address(event.host, event.port),
            detail=spec.name,
            plugin=spec.plugin,
            **fields,
        )
