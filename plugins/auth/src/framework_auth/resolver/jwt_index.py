"""Index of the JWTs in a directory, with the digest that servers compare.

A machine without a clock. Source: nats-server `dirstore.go`, `expirationTracker`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGEST_BYTES: Final = 32


class Entry(Struct, frozen=True):
    """One JWT in a directory."""

    digest: bytes
    expires_s: float
    """Unix time; 0: never."""


class JwtIndex:
    """The JWTs of a directory, those used longest ago first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._digest = bytes(DIGEST_BYTES)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is one of a name."""
        return name in self._entries

    @property
    def digest(self) -> bytes:
        """All digests, combined by exclusive or, so that their order does not matter."""
        return self._digest

    def names(self) -> Sequence[str]:
        """Return the public keys, those used longest ago first."""
        return tuple(self._entries)

    def put(self, name: str, token: str, expires_s: float) -> None:
        """Take note of a JWT, or of another one of the same name."""
        self.drop(name)
        entry = Entry(hashlib.sha256(token.encode()).digest(), expires_s)
        self._entries[name] = entry
        self._combine(entry)

    def holds(self, name: str, token: str) -> bool:
        """Tell whether a JWT is the very one that is there."""
        entry = self._entries.get(name)
        return entry is not None and entry.digest == hashlib.sha256(token.encode()).digest()

    def touch(self, name: str, expires_s: float | None = None) -> None:
        """Take note that a JWT was used, and that it expires at another time from now on."""
        entry = self._entries.get(name)
        if entry is not None:
            if expires_s is not None:
                self._entries[name] = Entry(entry.digest, expires_s)
            self._entries.move_to_end(name)

    def drop(self, name: str) -> None:
        """Forget a JWT, if it is there."""
        entry = self._entries.pop(name, None)
        if entry is not None:
            self._combine(entry)

    def expired(self, now_s: float) -> Sequence[str]:
        """Return those whose time is over. Cost: O(all)."""
        return [name for name, entry in self._entries.items() if 0 < entry.expires_s <= now_s]

    def _combine(self, entry: Entry) -> None:
        pairs = zip(self._digest, entry.digest, strict=True)
        self._digest = bytes(left ^ right for left, right in pairs)
