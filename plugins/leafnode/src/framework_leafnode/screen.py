"""What `framework run` shows of leaf nodes: a line for each, and for each hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.spec import StatusColumn, StatusDetails, StatusLine, StatusSection
from framework.spec.formats import rate_text
from framework_leafnode.leafs_report import LeafReport, LeafsReport, leafs_from_document

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS = ("with", "role", "account", "in/s", "out/s")


def leafs_lines(report: LeafsReport) -> Iterator[StatusLine]:
    """Yield what there is to show of the leaf nodes and hubs of one server."""
    for leaf in report.leafs:
        yield _line(leaf)
    if report.leafs_left_out:
        text = f"{report.leafs_left_out} more"
        yield StatusLine(cells=(text, "", "", "", ""), text=f"{text} leaf nodes")
    if report.sought:
        more = f", +{report.sought_left_out}" if report.sought_left_out else ""
        text = f"no hub at {', '.join(report.sought)}{more}"
        yield StatusLine(cells=("",) * len(_COLUMNS), text=text, problem=text, waits=True)


def _line(leaf: LeafReport) -> StatusLine:
    role = "hub" if leaf.is_hub else "leaf"
    rates = (leaf.in_msgs_per_s, leaf.out_msgs_per_s)
    return StatusLine(
        cells=(leaf.name, role, leaf.account, *map(rate_text, rates)),
        text=f"{'leaf node of' if leaf.is_hub else 'hub of'} {leaf.name}: account {leaf.account}",
        times_ns=(leaf.rtt_ns, leaf.rtt_ns) if leaf.rtt_ns else None,
    )


LEAFNODES_SECTION = StatusSection(
    field="leafnodes",
    read=leafs_from_document,
    columns=(
        StatusColumn(title="leafport", cell=lambda it: it.address, priority=12, is_address=True),
        StatusColumn(title="leafs", cell=lambda it: it.leafnodes, priority=78, is_summed=True),
    ),
    details=StatusDetails(
        title="leaf nodes of",
        titles=_COLUMNS,
        times_title="rtt",
        none="has no leaf nodes",
        lines=leafs_lines,
        unfolded=("role",),
    ),
)
"""Reads what `framework_leafnode.monitor.answer_status` answers."""
