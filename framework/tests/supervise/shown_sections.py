"""A section like the route plugin's, so that the room is tested without any plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.spec import StatusColumn, StatusDetails, StatusLine, StatusSection
from framework.supervise.sections import SectionReport, read_sections

if TYPE_CHECKING:
    from collections.abc import Iterator


def _lines(said: dict[str, Any]) -> Iterator[StatusLine]:
    for to, pool, rtt_ns in said.get("peers", ()):
        lack = "" if pool == "3/3" else "lacks one"
        text = ", ".join(part for part in (f"routes to {to}: pool {pool}", lack) if part)
        times_ns = (rtt_ns, rtt_ns) if rtt_ns else None
        yield StatusLine(cells=(to, pool), text=text, problem=lack, times_ns=times_ns)
    for address in said.get("sought", ()):
        text = f"no route to {address}"
        yield StatusLine(cells=("", ""), text=text, problem=text, waits=True)


MESH = StatusSection(
    field="mesh",
    read=lambda said: said if isinstance(said, dict) else None,
    columns=(
        StatusColumn(
            title="cluster", cell=lambda said: said["address"], priority=10, is_address=True
        ),
        StatusColumn(title="routes", cell=lambda said: said["routes"], priority=80, is_summed=True),
    ),
    details=StatusDetails(
        title="routes of",
        titles=("to", "pool"),
        times_title="rtt",
        none="has no routes",
        lines=_lines,
        unfolded=("pool",),
    ),
)
ADDRESS = "127.0.0.1:5248"


def mesh(routes: int = 0, **said: object) -> dict[str, SectionReport]:
    """Return what a report has of a server that says this of its routes."""
    return read_sections({"mesh": {"address": ADDRESS, "routes": routes, **said}}, [MESH])
