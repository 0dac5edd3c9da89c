"""Nkeys as text: encode and decode; signing is elsewhere.

A key is base32 of a prefix, the bytes and a checksum, so that its first letter tells its kind.
Source: nkeys `strkey.go`.
"""

from __future__ import annotations

import base64
import binascii
import re
from enum import Enum
from typing import Final

KEY_BYTES: Final = 32
"""Of a public key, and of what a seed holds."""

_CHECKSUM_BYTES: Final = 2
_SEED_PREFIX: Final = 18 << 3
"""The five high bits choose the first letter of the base32 text: 18 is `S`."""
_HIGH_BITS: Final = 0b11111000
_TEXT_CHARS_MAX: Final = 64
"""More than a seed has: what is longer is refused before it is decoded."""
_BASE32: Final = "[A-Z2-7]+"


class NkeyKind(Enum):
    """What a key stands for; the value is its letter."""

    SERVER = "N"
    CLUSTER = "C"
    OPERATOR = "O"
    ACCOUNT = "A"
    USER = "U"
    CURVE = "X"
    """An X25519 key, which encrypts and does not sign."""


_PREFIXES: Final = {
    NkeyKind.SERVER: 13 << 3,
    NkeyKind.CLUSTER: 2 << 3,
    NkeyKind.OPERATOR: 14 << 3,
    NkeyKind.ACCOUNT: 0,
    NkeyKind.USER: 20 << 3,
    NkeyKind.CURVE: 23 << 3,
}
_KINDS: Final = {prefix: kind for kind, prefix in _PREFIXES.items()}


def encode_public_key(kind: NkeyKind, key: bytes) -> str:
    """Return the text of a public key, 56 characters.

    Args:
        kind: Chooses the first letter.
        key: 32 bytes.
    """
    assert len(key) == KEY_BYTES
    return _encode(bytes([_PREFIXES[kind]]) + key)


def decode_public_key(text: str) -> tuple[NkeyKind, bytes]:
    """Return kind and bytes of a public key.

    Raises:
        ValueError: It is none; the error does not repeat it, since it could be a seed.
    """
    raw = _decode(text)
    kind = _KINDS.get(raw[0])
    if kind is None or len(raw) != 1 + KEY_BYTES:
        raise ValueError("not a public nkey")
    return kind, raw[1:]


def is_public_key(text: str, *kinds: NkeyKind) -> bool:
    """Tell whether a text is a public key of one of `kinds`; of any when there are none."""
    try:
        kind, _ = decode_public_key(text)
    except ValueError:
        return False
    return not kinds or kind in kinds


def encode_seed(kind: NkeyKind, secret: bytes) -> str:
    """Return the text of a seed, 58 characters: `S`, then the letter of its kind.

    Args:
        kind: Of the key that the seed makes.
        secret: 32 bytes.
    """
    assert len(secret) == KEY_BYTES
    prefix = _PREFIXES[kind]
    return _encode(bytes([_SEED_PREFIX | prefix >> 5, (prefix & 0b11111) << 3]) + secret)


def decode_seed(text: str) -> tuple[NkeyKind, bytes]:
    """Return kind and secret bytes of a seed.

    Raises:
        ValueError: It is none; the error does not repeat it.
    """
    raw = _decode(text)
    kind = _KINDS.get((raw[0] & 0b111) << 5 | raw[1] >> 3)
    if raw[0] & _HIGH_BITS != _SEED_PREFIX or kind is None or len(raw) != 2 + KEY_BYTES:
        raise ValueError("not an nkey seed")
    return kind, raw[2:]


def _encode(body: bytes) -> str:
    return base64.b32encode(body + _checksum(body)).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    """Return prefix and key without the checksum, which is right; at least two bytes."""
    if len(text) > _TEXT_CHARS_MAX or not re.fullmatch(_BASE32, text):
        raise ValueError("not an nkey: it has characters that no nkey has")
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except binascii.Error:
        raise ValueError("not an nkey: its length is wrong") from None
    body, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
    if len(body) <= 1 or _checksum(body) != checksum:
        raise ValueError("not an nkey: its checksum is wrong")
    return body


def _checksum(body: bytes) -> bytes:
    """Return the CRC-16/XMODEM, low byte first."""
    return binascii.crc_hqx(body, 0).to_bytes(_CHECKSUM_BYTES, "little")
