"""Refuses addresses: those in `ban.addresses`, and those that an operator bans by a request.

    framework serve --plugin examples/ban.py -c ban.conf
    nats --user sys --password ... request BAN.add 203.0.113.0/24
    nats --user sys --password ... request BAN.remove 203.0.113.0/24

Both requests are for users of the system account, and what a tool such as fail2ban does when the
log has shown it too many failed logins of one address.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from framework import hookimpl
from framework.spec import ClosedState, LinkKind, RefusedAddresses, ServiceSpec
from framework.topology import Setting, section_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import ServerContext, ServiceRequest
    from framework.topology import ConfigSection


class BanConfig(Struct, frozen=True):
    addresses: Annotated[
        tuple[str, ...], Setting(help="Addresses and ranges that are refused")
    ] = ()


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(BanConfig, name="ban", help="Who may not connect")


@hookimpl
def framework_refused_addresses(server: ServerContext) -> Iterator[RefusedAddresses]:
    config = server.config.section_as(BanConfig) or BanConfig()
    yield RefusedAddresses(name="ban", ranges=config.addresses)


@hookimpl
def framework_services(server: ServerContext) -> Iterator[ServiceSpec]:
    async def answer(request: ServiceRequest) -> bytes:
        ranges = request.payload.decode().split()
        if request.subject == "BAN.add":
            server.change_refused_addresses("ban", add=ranges)
            for text in ranges:
                await close_clients(server, text)
        else:
            server.change_refused_addresses("ban", remove=ranges)
        return b"+OK"

    yield ServiceSpec(name="ban", subject="BAN.*", answer=answer)


async def close_clients(server: ServerContext, text: str) -> None:
    """Close who is there already: a ban alone concerns who comes."""
    network = ip_network(text)
    for row in await server.links(LinkKind.CLIENT):
        if ip_address(row.host) in network:
            server.plane.close(row.link, ClosedState.KICKED)
