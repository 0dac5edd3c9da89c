"""Settings of the block `leafnodes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from framework_leafnode.options import leafnode_options

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from framework.spec import TlsSettings
    from framework.topology import ConfigSection
    from framework_leafnode.logins import LeafLogins
    from framework_leafnode.settings import LeafSettings


class LeafConfig(Struct, frozen=True, kw_only=True):
    """The `leafnodes` block of a server."""

    host: str
    port: int | None
    """0: any free one; None: nobody is accepted."""
    advertise: str
    """`host` or `host:port`; empty: as it listens."""
    is_advertised: bool
    logins: LeafLogins
    settings: LeafSettings
    tls: TlsSettings | None = None
    """Of the port; None: it is plain."""
    write_deadline_s: float | None = None
    """None: as clients."""
    closes_slow: bool = False
    """One that takes nothing within the deadline is closed, rather than tried again."""

    @property
    def all_tls(self) -> tuple[TlsSettings | None, ...]:
        """Return the TLS settings of the port and of all hubs."""
        return (self.tls, *(remote.tls for remote in self.settings.remotes))


def leafnode_section(
    modes: Collection[str], read: Callable[[Mapping[str, Any]], LeafConfig]
) -> ConfigSection:
    """Return the block; `section_as(LeafConfig)` is None without leaf nodes and hubs.

    Args:
        modes: Names of the modes of compression that there are.
        read: Returns what the values of a block with a port or remotes come to.
    """

    def make(value: Mapping[str, Any]) -> LeafConfig | None:
        return None if value["port"] is None and not value["remotes"] else read(value)

    return replace(leafnode_options(modes), record=LeafConfig, make=make)
