"""Addresses of this machine's network interfaces: where a listener on a wildcard is reached."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Address, IPv6Address


def is_wildcard(host: str) -> bool:
    """Return whether a listener on this host takes connections to every address."""
    try:
        return not host or ip_address(host).is_unspecified
    except ValueError:
        return False


def interface_addresses() -> tuple[str, ...]:
    """Return all addresses of all interfaces, IPv4 before IPv6; without zones."""
    return tuple(str(address) for address in _addresses())


def unicast_addresses() -> tuple[str, ...]:
    """Return the addresses by which other machines may reach this one.

    Source: nats-server `server.go`, `getNonLocalIPsIfHostIsIPAny`; Go's `net.IP.IsGlobalUnicast`.
    """
    return tuple(str(address) for address in _addresses() if _is_global_unicast(address))


def _is_global_unicast(address: IPv4Address | IPv6Address) -> bool:
    return not (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
    )


def _addresses() -> Iterator[IPv4Address | IPv6Address]:
    import psutil  # noqa: PLC0415 - 8 ms that only a listener on a wildcard has use for

    families = (socket.AF_INET, socket.AF_INET6)
    for addresses in psutil.net_if_addrs().values():
        for family in families:
            for it in addresses:
                if it.family is family:
                    yield ip_address(it.address.partition("%")[0])
