"""Nkeys that sign, verify and encrypt: Ed25519 and X25519, by libsodium.

`framework.wire.nkey` knows how they are written.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

from nacl.exceptions import CryptoError
from nacl.public import Box, PrivateKey, PublicKey
from nacl.signing import SigningKey, VerifyKey
from typing_extensions import override

from framework.wire.nkey import (
    KEY_BYTES,
    NkeyKind,
    decode_public_key,
    decode_seed,
    encode_public_key,
    encode_seed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNATURE_BYTES: Final = 64

_SEALED_VERSION: Final = b"xkv1"
"""What every sealed message begins with. Source: nkeys `xkeys.go`, `XKeyVersionV1`."""

_SIGNATURE_CHARS_MAX: Final = 88
_URL_SAFE: Final = "[A-Za-z0-9_-]*"


class KeyPair:
    """An nkey that signs.

    Args:
        kind: What it stands for; none that encrypts.
        secret: 32 random bytes.
    """

    def __init__(self, kind: NkeyKind, secret: bytes) -> None:
        assert kind is not NkeyKind.CURVE
        self._key = SigningKey(secret)
        self._kind = kind
        self.public = encode_public_key(kind, bytes(self._key.verify_key))
        """Its public half, as text."""

    @classmethod
    def from_seed(cls, seed: str) -> KeyPair:
        """Return the key of a seed.

        Raises:
            ValueError: It is no seed of a key that signs; the error does not repeat it.
        """
        kind, secret = decode_seed(seed)
        if kind is NkeyKind.CURVE:
            raise ValueError("an xkey does not sign")
        return cls(kind, secret)

    @property
    def seed(self) -> str:
        """The secret half, as text."""
        return encode_seed(self._kind, bytes(self._key))

    def sign(self, data: bytes) -> bytes:
        """Return the 64 bytes that prove that this key has signed `data`."""
        return self._key.sign(data).signature

    @override
    def __repr__(self) -> str:
        return f"KeyPair({self.public})"


class CurvePair:
    """An xkey that encrypts and decrypts.

    Args:
        secret: 32 random bytes.
        draw: Returns so many random bytes; None: the system's.
    """

    def __init__(self, secret: bytes, *, draw: Callable[[int], bytes] | None = None) -> None:
        self._key = PrivateKey(secret)
        self._draw = draw
        self.public = encode_public_key(NkeyKind.CURVE, bytes(self._key.public_key))
        """Its public half, as text."""

    def seal(self, data: bytes, recipient: str) -> bytes:
        """Encrypt for the owner of a public xkey.

        Raises:
            ValueError: `recipient` is no public xkey.
        """
        box = Box(self._key, _curve_key(recipient))
        nonce = self._draw(Box.NONCE_SIZE) if self._draw else None
        return _SEALED_VERSION + bytes(box.encrypt(data, nonce))

    def open(self, sealed: bytes, sender: str) -> bytes:
        """Decrypt what the owner of a public xkey has encrypted for this one.

        Raises:
            ValueError: It was not, or was changed on its way.
        """
        if not sealed.startswith(_SEALED_VERSION):
            raise ValueError("not encrypted as xkv1")
        try:
            return Box(self._key, _curve_key(sender)).decrypt(sealed[len(_SEALED_VERSION) :])
        except (CryptoError, ValueError):
            raise ValueError("cannot be decrypted") from None

    @override
    def __repr__(self) -> str:
        return f"CurvePair({self.public})"


def is_signed(data: bytes, signature: bytes, signer: str) -> bool:
    """Tell whether the owner of a public key has signed `data`.

    Args:
        data: What was signed.
        signature: As it came; of any length.
        signer: A public nkey; what is none has signed nothing.

    Cost: about 100 microseconds.
    """
    try:
        kind, key = decode_public_key(signer)
    except ValueError:
        return False
    if kind is NkeyKind.CURVE or len(signature) != SIGNATURE_BYTES:
        return False
    assert len(key) == KEY_BYTES
    try:
        VerifyKey(key).verify(data, signature)
    except (CryptoError, ValueError):
        return False
    return True


def decode_signature(text: str) -> bytes | None:
    """Return the bytes of a signature in CONNECT; None when it is none.

    Base64 of either alphabet counts, as in nats-server. Source: `auth.go`,
    `processClientOrLeafAuthentication`.
    """
    if len(text) > _SIGNATURE_CHARS_MAX:
        return None
    try:
        if re.fullmatch(_URL_SAFE, text):
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _curve_key(text: str) -> PublicKey:
    kind, key = decode_public_key(text)
    if kind is not NkeyKind.CURVE:
        raise ValueError("not a public xkey")
    return PublicKey(key)
