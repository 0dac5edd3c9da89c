"""Settings of the block `gateway`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from framework.peering import CompressionTerms
from framework_gateway.options import COMPRESSION_MODE, gateway_options

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from framework.peering import Login
    from framework.spec import TlsSettings
    from framework.topology import ConfigSection
    from framework_gateway.settings import MeshSettings


class GatewayConfig(Struct, frozen=True, kw_only=True):
    """The `gateway` block of a server."""

    name: str
    """Of its cluster."""
    host: str
    port: int
    """0: any free one."""
    advertise: str
    """`host` or `host:port`; empty: as it listens."""
    login: Login
    mesh: MeshSettings
    compression: CompressionTerms = CompressionTerms(COMPRESSION_MODE)
    tls: TlsSettings | None = None
    """None: gateways are plain."""
    write_deadline_s: float | None = None
    """None: as clients."""
    closes_slow: bool = False
    """A gateway that takes nothing within the deadline is closed, rather than tried again."""

    @property
    def is_compressed(self) -> bool:
        """Tell whether anything is compressed with clusters that want the same."""
        return self.compression.mode != COMPRESSION_MODE

    @property
    def all_tls(self) -> tuple[TlsSettings, ...]:
        """Return the settings of the listener, and those of clusters that have their own."""
        every = (self.tls, *(remote.tls for remote in self.mesh.remotes))
        return tuple(it for it in every if it is not None)


def gateway_section(
    modes: Collection[str], read: Callable[[Mapping[str, Any]], GatewayConfig]
) -> ConfigSection:
    """Return the block `gateway`; `section_as(GatewayConfig)` is None without gateways.

    Args:
        modes: Names of the modes of compression that there are.
        read: Returns what the values of a block with a name and a port come to.
    """

    def make(value: Mapping[str, Any]) -> GatewayConfig | None:
        return None if value["port"] is None or not value["name"] else read(value)

    return replace(gateway_options(modes), record=GatewayConfig, make=make)
