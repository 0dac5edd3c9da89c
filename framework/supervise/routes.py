"""Summarize the routes of a server: peers in the same state share a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from framework.supervise.shown import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from framework.supervise.mesh import MeshReport, PeerReport

_NS_PER_MS = 1_000_000


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


def routes_lines(mesh: MeshReport) -> Iterator[tuple[RoutesLine, str]]:
    """Yield what there is to show, each with its round trips, which change all the time."""
    alike: dict[RoutesLine, list[PeerReport]] = {}
    for peer in mesh.peers:
        alike.setdefault(_line_of(peer), []).append(peer)
    for line, peers in alike.items():
        names = _listed((peer.name for peer in peers), len(peers), " ")
        shown = RoutesLine(names, line.pool, line.accounts, line.compression, line.lack)
        yield shown, _rtt_text([peer.rtt_ns for peer in peers if peer.rtt_ns])
    if mesh.peers_left_out:
        yield RoutesLine(f"{mesh.peers_left_out} more servers"), ""
    if mesh.sought:
        count = len(mesh.sought) + mesh.sought_left_out
        yield RoutesLine("", lack=f"no route to {_listed(mesh.sought, count, ', ')}"), ""


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


def _rtt_text(rtts_ns: list[int]) -> str:
    """Return the shortest and the longest round trip: `0.21 ms`, `0.2-1.4 ms`; empty for none."""
    if not rtts_ns:
        return ""
    shortest, longest = (_digits(ns / _NS_PER_MS) for ns in (min(rtts_ns), max(rtts_ns)))
    return f"{shortest} ms" if shortest == longest else f"{shortest}-{longest} ms"


def _digits(ms: float) -> str:
    return f"{ms:.2f}" if ms < 1 else f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"  # noqa: PLR2004 -- digits


def _listed(names: Iterable[str], count: int, separator: str) -> str:
    """Return names, and how many more there are."""
    shown = [printable(name) for name in names]
    more = count - len(shown)
    return separator.join([*shown, f"+{more}"] if more > 0 else shown)
