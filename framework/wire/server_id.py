"""Server IDs, made from randomness of the caller."""

from __future__ import annotations

from typing import Final

from framework.wire.nkey import NkeyKind, encode_public_key

_NUID_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NUID_CHARS: Final = 22
NUID_RANDOM_BYTES: Final = 17
"""Randomness that a NUID takes: 22 digits to base 62 hold 131 bits."""


def server_id_from_random(key: bytes) -> str:
    """Return a server ID: `N` and 55 more characters of base32.

    Args:
        key: 32 random bytes, in the place of an Ed25519 public key.
    """
    return encode_public_key(NkeyKind.SERVER, key)


def nuid_from_random(randomness: bytes) -> str:
    """Return 22 characters of base 62, as NATS names what nobody has named.

    Args:
        randomness: At least `NUID_RANDOM_BYTES` bytes.

    Source: nuid `nuid.go`, `totalLen` and `digits`.
    """
    assert len(randomness) >= NUID_RANDOM_BYTES
    number = int.from_bytes(randomness, "big")
    digits = []
    for _ in range(_NUID_CHARS):
        number, digit = divmod(number, len(_NUID_ALPHABET))
        digits.append(_NUID_ALPHABET[digit])
    return "".join(digits)
