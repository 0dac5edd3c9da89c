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

    def start(port: Port) -> None:
        _crc.start(port.capsule(), server.account_number(GLOBAL_ACCOUNT), "util.crc32")

    yield PortSpec(name="crc32", start=start, stop=_crc.join)
