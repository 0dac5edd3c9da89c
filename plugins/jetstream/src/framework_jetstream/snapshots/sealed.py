"""Files that are written once, and sealed where a server has a `key`: of what is set aside.

    magic "FJSEAL01", u8 cipher, 16 bytes of salt, then pieces
    piece = u32 length, that many bytes: encrypted, with the tag of 16 bytes behind

The key of a file is derived from the server's and the salt. The nonce of a piece is its number and
whether it is the last one: so pieces can't be left out, change places or be cut off unnoticed.
"""

from __future__ import annotations

import secrets
import struct
from typing import IO, TYPE_CHECKING, Final

from framework_jetstream.encryption.errors import CipherError, LockedFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

MAGIC: Final = b"FJSEAL01"
_AES: Final = 2
_SALT_BYTES: Final = 16
_TAG_BYTES: Final = 16
_KEY_BYTES: Final = 32
_PIECE_BYTES: Final = 256 * 1024
_LENGTH: Final = struct.Struct("<I")
_NONCE: Final = struct.Struct("<QI")


def _cipher_of(number: int, key: str, salt: bytes) -> AESGCM | ChaCha20Poly1305:
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - for who encrypts
        AESGCM,
        ChaCha20Poly1305,
    )
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - the same

    derived = HKDF(SHA256(), _KEY_BYTES, salt, b"what is set aside").derive(key.encode())
    return AESGCM(derived) if number == _AES else ChaCha20Poly1305(derived)


class Sealing:
    """Writes what it is given into a file, sealed.

    Args:
        file: Open for bytes.
        key: Of the server.
        cipher: Its number, as `encryption/ciphers.py` has it.
    """

    def __init__(self, file: IO[bytes], key: str, cipher: int) -> None:
        salt = secrets.token_bytes(_SALT_BYTES)
        self._file = file
        self._cipher = _cipher_of(cipher, key, salt)
        self._left = bytearray()
        self._number = 0
        file.write(MAGIC + bytes([cipher]) + salt)

    def write(self, data: bytes) -> None:
        """Write some more."""
        self._left += data
        while len(self._left) > _PIECE_BYTES:
            self._put(bytes(self._left[:_PIECE_BYTES]), is_last=False)
            del self._left[:_PIECE_BYTES]

    def finish(self) -> None:
        """Write what is left; nothing comes behind."""
        self._put(bytes(self._left), is_last=True)
        self._left.clear()

    def _put(self, piece: bytes, *, is_last: bool) -> None:
        sealed = self._cipher.encrypt(_NONCE.pack(self._number, is_last), piece, None)
        self._file.write(_LENGTH.pack(len(sealed)) + sealed)
        self._number += 1


def is_sealed(path: Path) -> bool:
    """Return whether a file was written by `Sealing`."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def unsealed(path: Path, keys: Sequence[str]) -> Iterator[bytes]:
    """Yield what was written into a sealed file, in pieces.

    Raises:
        LockedFileError: It was sealed with another key.
        CipherError: It is damaged, or cut off.
        OSError: It can't be read.
    """
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - for who encrypts

    with path.open("rb") as file:
        head = file.read(len(MAGIC) + 1 + _SALT_BYTES)
        salt = head[len(MAGIC) + 1 :]
        if len(salt) != _SALT_BYTES or not head.startswith(MAGIC):
            raise CipherError(f"{path} is damaged: it has no head")
        ciphers = [_cipher_of(head[len(MAGIC)], key, salt) for key in keys]
        number, is_last = 0, False
        while not is_last:
            sealed = _piece_of(file, path)
            place = file.tell()
            is_last = not file.read(1)
            file.seek(place)
            for cipher in list(ciphers):
                try:
                    piece = cipher.decrypt(_NONCE.pack(number, is_last), sealed, None)
                except InvalidTag:
                    ciphers.remove(cipher)
                    continue
                ciphers = [cipher]
                break
            else:
                if number:
                    raise CipherError(f"{path} is damaged: piece {number + 1} is not what it was")
                raise LockedFileError(str(path), key_count=len(keys), opens_some=False)
            number += 1
            yield piece


def _piece_of(file: IO[bytes], path: Path) -> bytes:
    length = file.read(_LENGTH.size)
    count = _LENGTH.unpack(length)[0] if len(length) == _LENGTH.size else 0
    if not _TAG_BYTES <= count <= _PIECE_BYTES + _TAG_BYTES:
        raise CipherError(f"{path} is damaged: it is cut off")
    sealed = file.read(count)
    if len(sealed) != count:
        raise CipherError(f"{path} is damaged: it is cut off")
    return sealed
