"""Hands a port to the thread in C."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework import hookimpl
from framework.spec import GLOBAL_ACCOUNT, PortSpec
from framework_port_crc import _crc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import Port, ServerContext


@hookimpl
def framework_ports(server: ServerContext) -> Iterator[PortSpec]:
    """Serve `util.crc32` in the global account."""

    services: list[object] = []

    def start(port: Port) -> None:
        account = server.account_number(GLOBAL_ACCOUNT)
        services.append(_crc.start(port.capsule(), account, "util.crc32"))

    yield PortSpec(name="crc32", start=start, stop=lambda: _crc.join(services.pop()))
