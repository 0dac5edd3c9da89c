"""Attacks by messages, subscriptions and their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bench.fairness.attack import Attack

ATTACKS: Final[tuple[Attack, ...]] = ()
