"""Kinds of links that plugins add."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from framework.dataplane.kinds import KindTraits
from framework.dataplane.link import LinkKind
from framework.dataplane.reserved import ReservedPrefix


class LinkKindSpec(Struct, frozen=True, kw_only=True):
    """A kind of link as a row: what its links may say, where they lead, how they stay alive.

    Its links are counted by their kind; those of users are shown in `/connz`.
    """

    kind: LinkKind
    """From `LinkKind.add`, or one of nats-server's that the core has no row for."""
    traits: KindTraits
    reserved: Sequence[ReservedPrefix] = ()
    """Prefixes of subjects that its protocol keeps for itself; 16 of the core and all plugins."""
