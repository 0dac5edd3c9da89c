"""The keys of a server, from what is configured."""

from __future__ import annotations

from typing import Final

from framework_jetstream.encryption._cipher import Keys
from framework_jetstream.encryption.ciphers import CIPHERS
from framework_jetstream.encryption.libsodium import prepare

_KEY_BYTES: Final = 32


def keys_of(key: str, prev_key: str, cipher: str, salt: bytes) -> Keys | None:
    """Return keys for files; None: they are not encrypted.

    Args:
        key: For what is written; empty: nothing is encrypted.
        prev_key: What was written with the one before is read; empty: there is none.
        cipher: One of `CIPHERS`; empty: the first.
        salt: Of 16 bytes that are random, and never used for another start.

    Raises:
        CipherError: The processor or the library doesn't have it.
    """
    if not key:
        return None
    number = CIPHERS[cipher or "chacha"]
    prepare(number)
    return Keys(cipher=number, keys=tuple(_derive(it) for it in (key, prev_key) if it), salt=salt)


def keys_to_read(*keys: str) -> Keys:
    """Return keys for a tool, which writes nothing; none: encrypted files are read as they are."""
    if keys:
        prepare(CIPHERS["chacha"])
    return Keys(keys=tuple(map(_derive, keys)), passes_locked=not keys)


def _derive(key: str) -> bytes:
    """Return the key that those of files are derived from. Source: RFC 5869."""
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - for who encrypts
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - the same

    return HKDF(SHA256(), _KEY_BYTES, b"framework jetstream", b"keys of files").derive(key.encode())
