"""Where libsodium's functions are, in the library that PyNaCl brings.

Threads that write files have no interpreter, so they call them by their addresses. At each start
they are compared with what `cryptography` makes of the same.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Final

from framework_jetstream.encryption._cipher import encrypt_once, use_functions
from framework_jetstream.encryption.errors import CipherError

if TYPE_CHECKING:
    from collections.abc import Callable

_HASH: Final = "crypto_generichash_blake2b_salt_personal"
_CIPHERS: Final = ("crypto_aead_chacha20poly1305_ietf", "crypto_aead_aes256gcm")
"""Those of the numbers 1 and 2."""
_AES: Final = 2
_TEXT: Final = bytes(range(256)) * 5
_KNOWN: Final = b"what is bound to it"


@cache
def prepare(cipher: int) -> None:
    """Find the functions, once, and see that those of a cipher are what they should be.

    Raises:
        CipherError: The processor or the library doesn't have it.
    """
    from nacl import _sodium  # noqa: PLC0415, PLC2701 - for who encrypts; compared below
    from nacl import bindings as _  # noqa: F401, PLC0415 - it prepares the library

    library, ffi = _sodium.lib, _sodium.ffi

    def address(name: str) -> int:
        return int(ffi.cast("uintptr_t", ffi.addressof(library, name)))

    names = [f"{it}_{what}" for it in _CIPHERS for what in ("encrypt", "decrypt")]
    try:
        found = [address(it) for it in (_HASH, *names)]
        has_aes = bool(library.crypto_aead_aes256gcm_is_available())
    except AttributeError as error:
        raise CipherError(f"encryption at rest needs PyNaCl 1.6 or newer: {error}") from error
    if not has_aes:
        found[-2:] = [0, 0]
        if cipher == _AES:
            raise CipherError(
                "`cipher: aes` needs a processor with AES instructions: use `cipher: chachapoly`"
            )
    use_functions(struct.pack(f"{len(found)}P", *found))
    _compare(cipher)


def _compare(cipher: int) -> None:
    from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415 - for who encrypts

    made: Callable[[bytes], aead.ChaCha20Poly1305 | aead.AESGCM] = (
        aead.AESGCM if cipher == _AES else aead.ChaCha20Poly1305
    )
    key, nonce = bytes(range(32)), struct.pack("<QI", 7, 9)
    if made(key).encrypt(nonce, _TEXT, _KNOWN) != encrypt_once(cipher, key, 7, 9, _KNOWN, _TEXT):
        raise CipherError("libsodium does not encrypt as it should: nothing is written with it")
