"""Ranges of IP addresses as bytes: IPv6, with IPv4 mapped into it."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Final

_MAPPED: Final = bytes(10) + b"\xff\xff"
"""What IPv4 addresses begin with. Source: RFC 4291, 2.5.5.2."""
_BITS: Final = 128


def packed_address(address: str) -> bytes:
    """Return the 16 bytes of an address; one of IPv4 is mapped.

    Raises:
        ValueError: It is none; names, and zones such as `%eth0`, are not taken.
    """
    if "%" in address:
        raise ValueError(f"{address!r:.80} is no IP address")
    try:
        packed = ip_address(address).packed
    except ValueError:
        raise ValueError(f"{address!r:.80} is no IP address") from None
    return packed if ":" in address else _MAPPED + packed


def packed_range(text: str) -> bytes:
    """Return the first address of a range and one byte, how many of its 128 bits count.

    Args:
        text: An address, or CIDR such as `203.0.113.0/24`, `2001:db8::/32`,
            `::ffff:203.0.113.0/120`.

    Raises:
        ValueError: It is none, or bits are set that do not count.
    """
    try:
        network = ip_network(text)
    except ValueError as error:
        raise ValueError(f"{error!s:.160}") from None
    bits = network.prefixlen + _BITS - network.max_prefixlen
    return packed_address(text.partition("/")[0]) + bytes((bits,))
