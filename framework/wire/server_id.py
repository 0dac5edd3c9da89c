"""Names that servers give themselves, made from randomness that the caller has drawn."""

from __future__ import annotations

import base64
import binascii
from typing import Final

_PREFIX_SERVER: Final = 13 << 3
"""The five high bits choose the first letter of the base32 text: 13 is `N`."""

_KEY_BYTES: Final = 32
_NUID_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NUID_CHARS: Final = 22
NUID_RANDOM_BYTES: Final = 17
"""Randomness that a NUID takes: 22 digits to base 62 hold 131 bits."""


def server_id_from_random(key: bytes) -> str:
    """Return a server ID: `N` and 55 more characters of base32.

    Args:
        key: 32 random bytes, in the place of an Ed25519 public key.

    Source: nkeys `strkey.go`, `Encode`: prefix, key, and CRC-16/XMODEM with its low byte first.
    """
    assert len(key) == _KEY_BYTES
    body = bytes([_PREFIX_SERVER]) + key
    checksum = binascii.crc_hqx(body, 0).to_bytes(2, "little")
    return base64.b32encode(body + checksum).rstrip(b"=").decode()


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
