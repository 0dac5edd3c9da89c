"""Addresses that may not connect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from framework.dataplane.link import LinkKind
from framework.spec._checks import check, check_name
from framework.wire.address import packed_range

ADDRESS_TABLES_MAX: Final = 16
"""Of one server. A connection is looked for in each of them."""

ADDRESS_RANGES_MAX: Final = 65_536
"""Of one table; some 150 bytes each."""


class RefusedAddresses(Struct, frozen=True, kw_only=True):
    """Addresses whose connections are closed as they are accepted, before INFO and before TLS."""

    name: str
    """For `ServerContext.change_refused_addresses`."""
    ranges: Sequence[str] = ()
    """CIDR such as `203.0.113.0/24` and `2001:db8::/32`, or addresses; at most 65,536.

    IPv4 written as IPv6, `::ffff:203.0.113.0/120`, is IPv4, and in no range of IPv6 such as `::/0`.
    """
    kinds: Sequence[LinkKind] = (LinkKind.CLIENT,)
    """Of listeners that refuse them."""
    plugin: str = ""
    """Whose they are; the core fills it in."""

    def __post_init__(self) -> None:
        check_name("refused addresses", self.name)
        what = f"refused addresses {self.name}"
        is_some = bool(self.kinds) and all(isinstance(it, LinkKind) for it in self.kinds)
        check(what, "kinds", self.kinds, is_good=is_some, expected="LinkKinds")
        is_text = isinstance(self.ranges, str)
        check(what, "ranges", self.ranges, is_good=not is_text, expected="a list of ranges")
        packed_ranges(what, self.ranges)


def packed_ranges(what: str, ranges: Sequence[str]) -> set[bytes]:
    """Return ranges as `packed_range` makes them.

    Raises:
        ValueError: One is no range, or there are too many; it names `what`.
    """
    is_few = len(ranges) <= ADDRESS_RANGES_MAX
    check(what, "ranges", len(ranges), is_good=is_few, expected=f"at most {ADDRESS_RANGES_MAX}")
    try:
        return {packed_range(it) for it in ranges}
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{what}: ranges: {error}") from None


class RefusedAddressesRow(Struct, frozen=True):
    """How a table of refused addresses does."""

    spec: RefusedAddresses
    ranges: int
    """Of this moment."""
    refused: int
    """Connections so far."""
