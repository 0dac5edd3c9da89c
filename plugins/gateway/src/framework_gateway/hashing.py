"""Hashes: of names in the subjects of replies, and of passwords."""

from __future__ import annotations

import hashlib
import hmac
import string

from framework_gateway.limits import HASH_CHARS

_PASSWORD_BYTES_MAX = 72
"""bcrypt looks at no more."""
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def short_hash(name: str) -> str:
    """Return six characters that stand for a cluster, or a server ID, in the subject of a reply.

    Source: nats-server `util.go`, `getHashSize`; `gateway.go`, `getGWHash`.
    """
    digest = hashlib.sha256(name.encode()).digest()[:HASH_CHARS]
    return "".join(_DIGITS[byte % len(_DIGITS)] for byte in digest)


def matches(hashed: str, password: str) -> bool:
    """Tell whether a password is the one of a hash; a malformed hash has none."""
    import bcrypt  # noqa: PLC0415 - most servers never need it

    given = password.encode("utf-8", "surrogatepass")[:_PASSWORD_BYTES_MAX]
    try:
        return hmac.compare_digest(bcrypt.hashpw(given, hashed.encode()), hashed.encode())
    except ValueError:
        return False
