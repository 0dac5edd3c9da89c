"""A JWT: three parts with dots between them, signed by an nkey.

    token = base64url(header) "." base64url(claims) "." base64url(signature)
    header = {"typ": "JWT", "alg": "ed25519-nkey"}

Of claims of version 1 the second part alone is signed, of version 2 the first two with their dot.
Source: jwt `decoder.go`, `Decode`; `header.go`, `Valid`; `claims.go`, `doEncode`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.fields import Fields, parse_object, shown
from framework_auth.claims.limits import HEADER_CHARS_MAX, TOKEN_CHARS_MAX
from framework_auth.keys import is_signed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_auth.keys import KeyPair

VERSION: Final = 2
"""Of claims that we write; and the newest that we read."""

_PARTS: Final = 3
_ALGORITHMS: Final = frozenset({"ed25519", "ed25519-nkey"})
_HEADER: Final = b'{"typ":"JWT","alg":"ed25519-nkey"}'
_URL_SAFE: Final = re.compile("[A-Za-z0-9_-]+")
_DECORATED: Final = re.compile(
    r"-{3,}BEGIN[^\n]*-{3,}\s*\n\s*([A-Za-z0-9_.-]+)\s*\n\s*-{3,}END", re.ASCII
)
_GENERIC: Final = "generic"


class Token(Struct, frozen=True):
    """A JWT with a valid signature; whether its issuer is trusted is another question."""

    kind: str
    """`user`, `account`, ...; of others as they say, or `generic`."""
    version: int
    issuer: str
    """Public key of who signed it."""
    fields: Fields
    """All its claims."""


def decode_token(text: str) -> Token:
    """Take a token apart and check its signature.

    Raises:
        ClaimsError: It is malformed, too long, of another algorithm or version, or not signed by
            its issuer.

    Cost: O(length), and about 100 microseconds for the signature.
    """
    if len(text) > TOKEN_CHARS_MAX:
        raise ClaimsError(f"token has more than {TOKEN_CHARS_MAX} characters")
    parts = text.split(".")
    if len(parts) != _PARTS:
        raise ClaimsError("token has not three parts")
    header, claims, signature = parts
    _check_header(header)
    fields = parse_object(_decode_part(claims))
    kind, version = _kind_of(fields)
    signed = claims if version == 1 else f"{header}.{claims}"
    issuer = fields.text("iss")
    if not is_signed(signed.encode(), _decode_part(signature), issuer):
        raise ClaimsError("token is not signed by its issuer")
    return Token(kind, version, issuer, fields)


def build_token(members: Mapping[str, object], key: KeyPair, *, issued_s: int) -> str:
    """Return a token of version 2.

    Args:
        members: Its claims; `iss`, `iat` and `jti` are set here, and the version.
        key: Of its issuer.
        issued_s: Unix time.
    """
    nats = {**_object(members.get("nats")), "version": VERSION}
    claims = {**members, "iss": key.public, "iat": issued_s, "nats": nats}
    digest = hashlib.sha256(_json(claims)).digest()
    claims["jti"] = base64.b32encode(digest).rstrip(b"=").decode()
    signed = f"{_encode_part(_HEADER)}.{_encode_part(_json(claims))}"
    return f"{signed}.{_encode_part(key.sign(signed.encode()))}"


def undecorate(text: str) -> str:
    """Return the token that a file holds, with or without `-----BEGIN NATS ... JWT-----`.

    Source: jwt `creds_utils.go`, `ParseDecoratedJWT`.
    """
    match = _DECORATED.search(text)
    return match[1] if match else text.strip()


def _check_header(part: str) -> None:
    if len(part) > HEADER_CHARS_MAX:
        raise ClaimsError("header is too long")
    header = parse_object(_decode_part(part))
    if header.text("typ").upper() != "JWT":
        raise ClaimsError(f"type {shown(header.text('typ'))} is not JWT")
    if header.text("alg").lower() not in _ALGORITHMS:
        raise ClaimsError(f"algorithm {shown(header.text('alg'))} is not ed25519-nkey")


def _kind_of(fields: Fields) -> tuple[str, int]:
    """Return kind and version; claims of version 1 have their kind outside of `nats`."""
    if old := fields.text("type"):
        return old, 1
    nats = fields.nested("nats")
    version = nats.number("version")
    kind = nats.text("type")
    if not kind:
        return _GENERIC, VERSION
    if version != VERSION:
        raise ClaimsError(f"claims of version {version} are not supported")
    return kind, version


def _decode_part(part: str) -> bytes:
    if not _URL_SAFE.fullmatch(part):
        raise ClaimsError("token is not base64")
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        raise ClaimsError("token is not base64") from None


def _encode_part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _json(members: Mapping[str, object]) -> bytes:
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()


def _object(value: object) -> Mapping[str, object]:
    if value is None:
        return {}
    assert isinstance(value, dict)
    return value
