"""Summarize the routes of a server: peers in the same state share a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from framework.supervise.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.supervise.mesh import MeshReport, PeerReport

_NS_PER_MS = 1_000_000

MANY_SERVERS = 4
"""So many servers in one state are not named one by one."""

RttRange: TypeAlias = "tuple[int, int] | None"
"""Shortest and longest round trip, in nanoseconds; None: none is known."""


class RoutesLine(Struct, frozen=True):
    """The routes to some servers, as texts."""

    to: str
    """Names of the servers; empty where there is no route."""
    pool: str = ""
    """Connections up of those wanted."""
    accounts: str = ""
    """With connections of their own."""
    compression: str = ""
    lack: str = ""
    """What is missing; empty when nothing is."""

    @override
    def __str__(self) -> str:
        """Return the line for a log."""
        if not self.to:
            return self.lack
        if not self.pool:
            return f"routes to {self.to}"
        parts = [f"pool {self.pool}", f"accounts {self.accounts}" if self.accounts else ""]
        parts += [self.compression, self.lack]
        return f"routes to {self.to}: {', '.join(part for part in parts if part)}"


def routes_lines(
    mesh: MeshReport, *, is_settling: bool = False
) -> Iterator[tuple[RoutesLine, RttRange]]:
    """Yield what there is to show, each with its round trips, which change all the time.

    Args:
        mesh: The routes of one server.
        is_settling: It has just become ready: what it still dials is no news.
    """
    alike: dict[RoutesLine, list[PeerReport]] = {}
    for peer in sorted(mesh.peers, key=lambda peer: natural_key(peer.name)):
        alike.setdefault(_line_of(peer), []).append(peer)
    most = max(alike.values(), key=len, default=[])
    for line, peers in alike.items():
        names = _all_but(mesh, peers) if peers is most else _names(peers)
        rtts_ns = [peer.rtt_ns for peer in peers if peer.rtt_ns]
        yield replace(line, to=names), (min(rtts_ns), max(rtts_ns)) if rtts_ns else None
    if mesh.peers_left_out:
        yield RoutesLine(f"{mesh.peers_left_out} more servers"), None
    if mesh.sought and not is_settling:
        count = len(mesh.sought) + mesh.sought_left_out
        yield RoutesLine("", lack=f"no route to {_listed(mesh.sought, count, ', ')}"), None


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """Return what sorts names as people count: `east-2` before `east-10`."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((int(part), "") if part.isdecimal() else (0, part) for part in parts)


def rtt_text(*ranges: RttRange) -> str:
    """Return the shortest and the longest round trip: `0.21 ms`, `0.2-1.4 ms`; empty for none."""
    known = [it for it in ranges if it is not None]
    if not known:
        return ""
    limits = min(shortest for shortest, _ in known), max(longest for _, longest in known)
    shortest, longest = (_digits(ns / _NS_PER_MS) for ns in limits)
    return f"{shortest} ms" if shortest == longest else f"{shortest}-{longest} ms"


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


def _line_of(peer: PeerReport) -> RoutesLine:
    accounts = _listed(peer.accounts, peer.accounts_count, " ")
    compression = _listed(peer.compression, len(peer.compression), " ")
    return RoutesLine("", f"{peer.pool}/{peer.pool_size}", accounts, compression, _lack_of(peer))


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


def _digits(ms: float) -> str:
    return f"{ms:.2f}" if ms < 1 else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"  # noqa: PLR2004 -- digits


def _listed(names: Iterable[str], count: int, separator: str) -> str:
    """Return names, and how many more there are."""
    shown = [printable(name) for name in names]
    more = count - len(shown)
    return separator.join([*shown, f"+{more}"] if more > 0 else shown)
