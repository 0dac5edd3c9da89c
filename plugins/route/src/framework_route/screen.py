"""What `framework run` shows of routes: peers in the same state share a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from framework.spec import StatusColumn, StatusDetails, StatusLine, StatusSection
from framework_route.mesh_report import MeshReport, PeerReport, mesh_from_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MANY_SERVERS = 4
"""So many servers in one state are not named one by one."""


def routes_lines(mesh: MeshReport) -> Iterator[StatusLine]:
    """Yield what there is to show of the routes of one server."""
    alike: dict[tuple[str, ...], list[PeerReport]] = {}
    for peer in sorted(mesh.peers, key=lambda peer: natural_key(peer.name)):
        alike.setdefault(_state_of(peer), []).append(peer)
    most = max(alike.values(), key=len, default=[])
    for state, peers in alike.items():
        names = _all_but(mesh, peers) if peers is most else _names(peers)
        rtts_ns = [peer.rtt_ns for peer in peers if peer.rtt_ns]
        yield _line(names, *state, times_ns=(min(rtts_ns), max(rtts_ns)) if rtts_ns else None)
    if mesh.peers_left_out:
        text = f"{mesh.peers_left_out} more servers"
        yield StatusLine(cells=(text, "", "", ""), text=f"routes to {text}")
    if mesh.sought:
        count = len(mesh.sought) + mesh.sought_left_out
        text = f"no route to {_listed(mesh.sought, count, ', ')}"
        yield StatusLine(cells=("", "", "", ""), text=text, problem=text, waits=True)


def _line(
    to: str,
    pool: str,
    accounts: str,
    compression: str,
    lack: str,
    *,
    times_ns: tuple[int, int] | None,
) -> StatusLine:
    parts = [f"pool {pool}", f"accounts {accounts}" if accounts else "", compression, lack]
    return StatusLine(
        cells=(to, pool, accounts, compression),
        text=f"routes to {to}: {', '.join(part for part in parts if part)}",
        problem=lack,
        times_ns=times_ns,
    )


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """Return what sorts names as people count: `east-2` before `east-10`."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((int(part), "") if part.isdecimal() else (0, part) for part in parts)


def _all_but(mesh: MeshReport, peers: list[PeerReport]) -> str:
    """Return a name for the servers that are as most are."""
    if len(peers) < MANY_SERVERS:
        return _names(peers)
    others = [peer for peer in mesh.peers if peer not in peers]
    if mesh.peers_left_out or len(others) >= len(peers):
        return f"{len(peers)} servers"
    but = f" but {_names(sorted(others, key=lambda it: natural_key(it.name)))}" if others else ""
    return f"all {len(mesh.peers)}{but}"


def _names(peers: list[PeerReport]) -> str:
    return _listed((peer.name for peer in peers), len(peers), " ")


def _state_of(peer: PeerReport) -> tuple[str, ...]:
    """Return pool, accounts, compression, and what is missing."""
    accounts = _listed(peer.accounts, peer.accounts_count, " ")
    compression = _listed(peer.compression, len(peer.compression), " ")
    return f"{peer.pool}/{peer.pool_size}", accounts, compression, _lack_of(peer)


def _lack_of(peer: PeerReport) -> str:
    lacks = (
        ("connection", map(str, peer.pool_lacks), peer.pool_size - peer.pool),
        ("account", peer.accounts_lacking, peer.accounts_lacking_count),
    )
    parts = [
        f"{noun if count == 1 else noun + 's'} {_listed(names, count, ', ')}"
        for noun, names, count in lacks
        if count > 0
    ]
    return f"lacks {' and '.join(parts)}" if parts else ""


def _listed(names: Iterable[str], count: int, separator: str) -> str:
    """Return names, and how many more there are."""
    shown = list(names)
    more = count - len(shown)
    return separator.join([*shown, f"+{more}"] if more > 0 else shown)


ROUTES_SECTION = StatusSection(
    field="mesh",
    read=mesh_from_document,
    columns=(
        StatusColumn(title="cluster", cell=lambda mesh: mesh.address, priority=10, is_address=True),
        StatusColumn(title="routes", cell=lambda mesh: mesh.routes, priority=80, is_summed=True),
    ),
    details=StatusDetails(
        title="routes of",
        titles=("to", "pool", "accounts", "compression"),
        times_title="rtt",
        none="has no routes",
        lines=routes_lines,
        unfolded=("pool",),
    ),
)
"""Reads what `framework_route.monitor.answer_status` answers."""
