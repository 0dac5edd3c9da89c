"""How a client proves who it is: the part of CONNECT that a server's INFO asks for."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Any

from pyspark_nats.errors import LoginError, OptionError

_BLOCK = re.compile(r"-{3,}BEGIN ([^-]+)-{3,}\s*([A-Za-z0-9_.=+/-]+?)\s*-{3,}END", re.DOTALL)
_SEED_BYTES = 36
"""Two of prefix, 32 of seed, two of check sum (nkeys `strkey.go`)."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who logs in. What is secret is in no `repr`."""

    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    jwt: str = field(default="", repr=False)
    seed: str = field(default="", repr=False)
    """Of an NKey; base32, begins with `SU`."""

    def connect_fields(self, nonce: str) -> dict[str, Any]:
        """Return the fields of CONNECT that log in.

        Args:
            nonce: From INFO; empty when the server asks for no signature.

        Raises:
            LoginError: A signature is asked for, and the library that makes it is missing.
        """
        fields: dict[str, Any] = {}
        if self.user:
            fields |= {"user": self.user, "pass": self.password}
        if self.token:
            fields["auth_token"] = self.token
        if self.jwt:
            fields["jwt"] = self.jwt
        if self.seed and nonce:
            public, signature = _signed(self.seed, nonce)
            fields["sig"] = signature
            if not self.jwt:
                fields["nkey"] = public
        return fields


def credentials_from_text(text: str) -> tuple[str, str]:
    """Return JWT and seed of a `.creds` file.

    Raises:
        OptionError: It has not both.
    """
    blocks = {name.strip(): value for name, value in _BLOCK.findall(text)}
    try:
        return blocks["NATS USER JWT"], blocks["USER NKEY SEED"]
    except KeyError as missing:
        raise OptionError(
            "credentials", f"no block {missing} in it", "path or text of a .creds file"
        ) from None


def _signed(seed: str, nonce: str) -> tuple[str, str]:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - rarely needed
            Ed25519PrivateKey,
        )
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - as above
            Encoding,
            PublicFormat,
        )
    except ImportError:
        raise LoginError(
            "NKeys and .creds files need `pip install pyspark-nats[credentials]`, on executors too"
        ) from None
    key = Ed25519PrivateKey.from_private_bytes(_seed_bytes(seed))
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signature = base64.urlsafe_b64encode(key.sign(nonce.encode())).rstrip(b"=")
    return _public_text(public), signature.decode()


def _seed_bytes(seed: str) -> bytes:
    try:
        raw = base64.b32decode(seed + "=" * (-len(seed) % 8))
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _SEED_BYTES or binascii.crc_hqx(raw[:-2], 0) != int.from_bytes(
        raw[-2:], "little"
    ):
        raise OptionError("nkey", "not the seed of an NKey", "58 letters that begin with SU")
    return raw[2:-2]


def _public_text(public: bytes) -> str:
    raw = bytes([20 << 3]) + public  # `U`, a user
    check = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    return base64.b32encode(raw + check).rstrip(b"=").decode()
