"""Mistakes that tests plant in joined cores, to see that they are found."""

from __future__ import annotations

from enum import IntEnum


class Plant(IntEnum):
    """When a core looks for interest of others."""

    NOTHING = 0
    """As it has to: behind each read, and behind the heads of messages before it takes them."""
    INTEREST_AT_TURNS_ONLY = 1
    """At the beginning of a turn, not behind each read."""
    INTEREST_BEFORE_HEADS = 2
    """Before it sees which messages are there, not again behind that."""
