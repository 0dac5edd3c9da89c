"""What `framework run` shows of gateways: a line for each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.spec import StatusColumn, StatusDetails, StatusLine, StatusSection
from framework.spec.formats import rate_text
from framework_gateway.mesh_report import ClusterReport, GatewaysReport, gateways_from_document

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS = ("to", "mode", "in", "in/s", "out/s")


def gateways_lines(report: GatewaysReport) -> Iterator[StatusLine]:
    """Yield what there is to show of the gateways of one server."""
    for cluster in report.clusters:
        yield _line(cluster)
    if report.clusters_left_out:
        text = f"{report.clusters_left_out} more clusters"
        yield StatusLine(cells=(text, "", "", "", ""), text=f"gateways to {text}")
    if report.sought:
        more = f", +{report.sought_left_out}" if report.sought_left_out else ""
        text = f"no gateway to {', '.join(report.sought)}{more}"
        yield StatusLine(cells=("",) * len(_COLUMNS), text=text, problem=text, waits=True)


def _line(cluster: ClusterReport) -> StatusLine:
    rates = (cluster.in_msgs_per_s, cluster.out_msgs_per_s)
    return StatusLine(
        cells=(cluster.name, cluster.mode, str(cluster.inbound), *map(rate_text, rates)),
        text=f"gateway to {cluster.name}: {cluster.mode}, {cluster.inbound} inbound",
        times_ns=(cluster.rtt_ns, cluster.rtt_ns) if cluster.rtt_ns else None,
    )


GATEWAYS_SECTION = StatusSection(
    field="gateways",
    read=gateways_from_document,
    columns=(
        StatusColumn(title="gateway", cell=lambda it: it.address, priority=11, is_address=True),
        StatusColumn(title="gateways", cell=lambda it: it.gateways, priority=79, is_summed=True),
    ),
    details=StatusDetails(
        title="gateways of",
        titles=_COLUMNS,
        times_title="rtt",
        none="has no gateways",
        lines=gateways_lines,
        unfolded=("mode",),
    ),
)
"""Reads what `framework_gateway.monitor.answer_status` answers."""
