"""What a server says of its routes: to whom, what is up, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from framework.supervise.limits import PEERS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerReport:
    """The routes to one other server. Of lists of names, only the first few are there."""

    name: str
    pool: int
    """Connections of the pool that are up."""
    pool_size: int
    pool_lacks: tuple[int, ...] = ()
    """Places of the pool that no connection has."""
    accounts: tuple[str, ...] = ()
    """With connections of their own that are up."""
    accounts_count: int = 0
    accounts_lacking: tuple[str, ...] = ()
    """Pinned, but without their connection."""
    accounts_lacking_count: int = 0
    compression: tuple[str, ...] = ()
    """All that its connections have: one, unless it has just changed."""
    rtt_ns: int = 0
    """0: not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshReport:
    """The routes of one server."""

    peers: tuple[PeerReport, ...] = ()
    peers_left_out: int = 0
    sought: tuple[str, ...] = ()
    """Addresses of servers that it dials, and has no route to."""
    sought_left_out: int = 0


def mesh_from_document(document: Any) -> MeshReport | None:
    """Return what a server says of its routes; None when it says nothing, or nothing of sense."""
    try:
        return MeshReport(
            peers=tuple(_peer_from_document(each) for each in document["peers"][:PEERS_MAX]),
            peers_left_out=_checked(document["peers_left_out"], int),
            sought=_checked_all(document["sought"], str),
            sought_left_out=_checked(document["sought_left_out"], int),
        )
    except (KeyError, TypeError):
        return None


def _peer_from_document(document: Any) -> PeerReport:
    values: dict[str, Any] = {}
    for field in fields(PeerReport):
        value, kind = document[field.name], str(field.type)
        if kind.startswith("tuple"):
            values[field.name] = _checked_all(value, int if "int" in kind else str)
        else:
            values[field.name] = _checked(value, int if kind == "int" else str)
    return PeerReport(**values)


def _checked_all(values: object, kind: type) -> tuple[Any, ...]:
    found: list[object] = _checked(values, list)
    return tuple(_checked(value, kind) for value in found)


def _checked(value: Any, kind: type) -> Any:
    """Return a value of that kind, without what would upset a terminal.

    Raises:
        TypeError: It is of another kind.
    """
    if type(value) is not kind:
        raise TypeError(kind)
    if isinstance(value, str):
        return "".join(each if each.isprintable() else " " for each in value)
    return value
