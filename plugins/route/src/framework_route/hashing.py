"""Compare route passwords with bcrypt hashes, in a worker thread."""

from __future__ import annotations

import hmac

_PASSWORD_BYTES_MAX = 72
"""bcrypt looks at no more."""


def matches(hashed: str, password: str) -> bool:
    """Tell whether a password is the one of a hash; a malformed hash has none."""
    import bcrypt  # noqa: PLC0415 - most servers never need it

    given = password.encode("utf-8", "surrogatepass")[:_PASSWORD_BYTES_MAX]
    try:
        return hmac.compare_digest(bcrypt.hashpw(given, hashed.encode()), hashed.encode())
    except ValueError:
        return False
