"""How servers and groups are numbered: by their names, so nobody has to hand numbers out."""

from __future__ import annotations

import hashlib
from typing import Final

from framework.wire.event_ids import DIGITS

PEER_CHARS: Final = 8
_GROUP_BYTES: Final = 8


def peer_of(server_name: str) -> str:
    """Return a server's id in groups, 8 characters of its name's hash.

    Source: nats-server `events.go`, `getHashSize`.
    """
    digest = hashlib.sha256(server_name.encode()).digest()[:PEER_CHARS]
    return "".join(DIGITS[byte % len(DIGITS)] for byte in digest)


def number_of(peer: str) -> int:
    """Return the number by which Raft knows a peer: its characters, as one number.

    Args:
        peer: 8 ASCII characters.

    Raises:
        ValueError: It is no peer.
    """
    text = peer.encode("ascii", "replace")
    if len(text) != PEER_CHARS:
        raise ValueError(f"{peer!r} is no peer")
    return int.from_bytes(text, "big")


def peer_from_number(number: int) -> str:
    """Return the peer that `number_of` gave a number; what is no such number is shown as it is."""
    try:
        return (number % 2**64).to_bytes(PEER_CHARS, "big").decode("ascii")
    except UnicodeDecodeError:
        return str(number)


def group_number(name: str) -> int:
    """Return the number by which Raft knows a group; two names have the same as good as never."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:_GROUP_BYTES], "big") or 1
