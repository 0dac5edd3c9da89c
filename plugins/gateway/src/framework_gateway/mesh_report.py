"""Gateways of a server by its status line, as the supervisor reads it."""

from __future__ import annotations

from msgspec import Struct, convert
from msgspec.structs import replace

from framework_gateway.limits import SHOWN_CLUSTERS_MAX


class ClusterReport(Struct, frozen=True, kw_only=True):
    """The gateways between a server and one other cluster."""

    name: str
    mode: str
    """How messages are sent there, as `/gatewayz` says it."""
    inbound: int = 0
    """Connections of its servers to this one."""
    rtt_ns: int = 0
    """0: not known yet."""
    in_msgs_per_s: int = 0
    in_bytes_per_s: int = 0
    out_msgs_per_s: int = 0
    out_bytes_per_s: int = 0


class GatewaysReport(Struct, frozen=True, kw_only=True):
    """The gateways of one server."""

    address: str = ""
    """Where it listens for them."""
    gateways: int = 0
    """Clusters that it is connected to."""
    clusters: tuple[ClusterReport, ...]
    clusters_left_out: int = 0
    sought: tuple[str, ...] = ()
    """Clusters that it dials, and is not connected to."""
    sought_left_out: int = 0


def gateways_from_document(document: object) -> GatewaysReport:
    """Return what a server says of its gateways.

    Raises:
        ValueError: It makes no sense.
    """
    report = convert(document, GatewaysReport)
    return replace(report, clusters=report.clusters[:SHOWN_CLUSTERS_MAX])
