"""nats-server's rules: who may have a replica, and who gets it.

Source: nats-server `jetstream_cluster.go`, `selectPeerGroup`, `selectPeerError`. Where it takes
any of several equal servers, this takes the one whose name comes first, so that a decision can be
told again; and of servers that share a unique tag it takes the best, not any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from framework_jetstream.placement.records import NoPlacement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework_jetstream.placement.records import (
        PlacementPolicy,
        PlacementRequest,
        PlacementServer,
    )

EXCLUDED_TAG: Final = "!jetstream"
"""A server with it gets no streams."""


class _Reasons(Struct):
    """Why servers were passed over, in the order in which nats-server names it."""

    words: dict[str, bool] = field(
        default_factory=lambda: dict.fromkeys(
            (
                "peer offline",
                "exclude tag set",
                "insufficient storage",
                "server tag not unique",
                "miscellaneous issue",
                "jetstream not enabled in cluster",
            ),
            False,
        )
    )
    missing_tags: dict[str, None] = field(default_factory=dict)
    excluded_tags: dict[str, None] = field(default_factory=dict)

    def add(self, word: str) -> None:
        assert word in self.words
        self.words[word] = True

    def text(self) -> str:
        parts = ["no suitable peers for placement"]
        parts += [word for word, is_so in self.words.items() if is_so]
        for what, tags in (
            ("tags not matched", self.missing_tags),
            ("tags excluded", self.excluded_tags),
        ):
            if tags:
                names = ", ".join(f"'{tag}'" for tag in tags)
                parts.append(f"{what} [{names}]")
        return ", ".join(parts)


def place(
    request: PlacementRequest,
    servers: Iterable[PlacementServer],
    policy: PlacementPolicy | None = None,
) -> tuple[str, ...]:
    """Return the peers that get the replicas: those that stay first, then the best first.

    Args:
        request: What is placed.
        servers: All of the meta group.
        policy: Of a plugin; None: nats-server's order.

    Raises:
        NoPlacement: There are not enough.
    """
    known = {it.peer: it for it in servers}
    if len(request.existing) >= request.replicas:
        return request.existing[: request.replicas]
    reasons = _Reasons()
    if not request.cluster:
        reasons.add("miscellaneous issue")
        raise NoPlacement(reasons.text())
    existing = [known[it] for it in request.existing if it in known]
    prefix = _unique_prefix(request)
    candidates = _ordered(request, _suitable(request, known.values(), reasons))
    if policy is not None and candidates:
        permitted = {it.peer for it in candidates}
        chosen = policy.order(request, candidates, existing)
        candidates = [known[it.peer] for it in chosen if it.peer in permitted]
        if len(candidates) < len(permitted):
            reasons.add("miscellaneous issue")
    new = _with_unique_tags(candidates, existing, prefix, reasons)
    wanted = request.replicas - len(request.existing)
    is_short = len(new) < wanted
    online = sum(it.is_online for it in new)
    has_no_quorum = online + len(request.existing) < request.replicas // 2 + 1
    if is_short or has_no_quorum:
        if not known:
            reasons.add("jetstream not enabled in cluster")
        elif not is_short:
            reasons.add("peer offline")
        raise NoPlacement(reasons.text())
    return (*request.existing, *(it.peer for it in new[:wanted]))


def _suitable(
    request: PlacementRequest, servers: Iterable[PlacementServer], reasons: _Reasons
) -> list[PlacementServer]:
    return [it for it in servers if _is_suitable(request, it, reasons)]


def _is_suitable(request: PlacementRequest, server: PlacementServer, reasons: _Reasons) -> bool:
    if server.cluster != request.cluster:
        return False
    if not server.is_known:
        reasons.add("peer offline")
        return False
    if server.peer in request.existing or server.peer in request.ignored:
        return False
    if EXCLUDED_TAG in server.tags:
        reasons.add("exclude tag set")
        return False
    return _has_tags(request, server, reasons) and _has_room(request, server, reasons)


def _has_tags(request: PlacementRequest, server: PlacementServer, reasons: _Reasons) -> bool:
    """Look at the tags one after the other: only the first that does not fit is named."""
    for tag in request.tags:
        name = tag.removeprefix("!")
        has = name.strip().lower() in server.tags
        if tag.startswith("!") and has:
            reasons.excluded_tags[name] = None
            return False
        if not tag.startswith("!") and not has:
            reasons.missing_tags[name] = None
            return False
    return True


def _has_room(request: PlacementRequest, server: PlacementServer, reasons: _Reasons) -> bool:
    if request.max_bytes > 0 and request.max_bytes > _free_bytes(request, server):
        reasons.add("insufficient storage")
        return False
    most = request.ha_assets_max
    if most > 0 and request.ha_cost > 0 and server.ha_assets + request.ha_cost > most:
        reasons.add("miscellaneous issue")
        return False
    return True


def _free_bytes(request: PlacementRequest, server: PlacementServer) -> int:
    return server.memory_bytes if request.storage == "memory" else server.storage_bytes


def _ordered(
    request: PlacementRequest, servers: Iterable[PlacementServer]
) -> list[PlacementServer]:
    is_replicated = request.replicas > 1

    def rank(server: PlacementServer) -> tuple[int, int, int, int, str]:
        return (
            0 if server.is_online and server.is_caught_up else 1 if server.is_online else 2,
            server.ha_assets if is_replicated else 0,
            -_free_bytes(request, server),
            server.streams,
            server.name,
        )

    return sorted(servers, key=rank)


def _unique_prefix(request: PlacementRequest) -> str:
    """Return the beginning of unique tags; a request that names such a tag needs no others."""
    prefix = request.unique_tag
    return "" if any(it.removeprefix("!").startswith(prefix) for it in request.tags) else prefix


def _with_unique_tags(
    candidates: Sequence[PlacementServer],
    existing: Sequence[PlacementServer],
    prefix: str,
    reasons: _Reasons,
) -> list[PlacementServer]:
    """Return candidates of which no two, and none with those that stay, share a unique tag."""
    if not prefix:
        return list(candidates)
    taken = {tag for it in existing if (tag := _unique_tag(it, prefix))}
    found: list[PlacementServer] = []
    for server in candidates:
        tag = _unique_tag(server, prefix)
        if not tag or tag in taken:
            reasons.add("server tag not unique")
            continue
        taken.add(tag)
        found.append(server)
    return found


def _unique_tag(server: PlacementServer, prefix: str) -> str:
    return next((it for it in server.tags if it.startswith(prefix)), "")
