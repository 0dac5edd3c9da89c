"""Kinds of links that a server has: the core's, and those that plugins add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.dataplane.kinds import KIND_TRAITS
from framework.dataplane.reserved import RESERVED_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.spec import KindTraits, LinkKind, LinkKindSpec, ReservedPrefix


class LinkKinds(Struct, frozen=True):
    """All rows of one server."""

    rows: Mapping[LinkKind, KindTraits]
    reserved: Sequence[ReservedPrefix]

    @classmethod
    def with_those(cls, added: Sequence[LinkKindSpec]) -> LinkKinds:
        """Return the core's rows and those of plugins."""
        rows = {**KIND_TRAITS, **{spec.kind: spec.traits for spec in added}}
        return cls(rows, [*RESERVED_PREFIXES, *(it for spec in added for it in spec.reserved)])

    @property
    def users(self) -> Sequence[LinkKind]:
        """Kinds whose links are users."""
        return [kind for kind, traits in self.rows.items() if traits.is_user]

    def has_peer(self, kinds: Sequence[LinkKind]) -> bool:
        """Return whether links of one of these kinds lead to other servers."""
        return any(self.rows[kind].is_peer for kind in kinds if kind in self.rows)
