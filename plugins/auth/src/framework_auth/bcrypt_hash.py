"""Parse bcrypt hashes, without computing one."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from framework.redacted import Redacted

_PREFIX: Final = r"\$2[abxy]\$"
_HASH: Final = r"\$2[abxy]\$(\d\d)\$([./A-Za-z0-9]{21})([./A-Za-z0-9])([./A-Za-z0-9]{31})"
_COST_MIN, _COST_MAX = 4, 31
_ALPHABET: Final = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_LAST_BITS: Final = 0b110000
"""16 bytes of salt leave 2 bits for the last of its 22 characters; some programs fill all 6."""


class BcryptHash(Redacted, frozen=True):
    """A parsed hash. Versions a, b, x and y are the same to nats-server and to us."""

    hidden: ClassVar = frozenset({"salt", "digest"})

    cost: int
    """The work is 2 ** cost."""
    salt: str
    digest: str

    def settings(self, cost: int) -> bytes:
        """Return what to compute with: version, cost, salt."""
        return f"$2b${cost:02}${self.salt}".encode()


def is_hash(secret: str) -> bool:
    """Tell whether a configured secret is meant as a hash, and not as the secret itself."""
    return re.match(_PREFIX, secret) is not None


def parse_hash(text: str) -> BcryptHash:
    """Take a hash apart.

    Raises:
        ValueError: It is malformed; the error does not repeat it.
    """
    match = re.fullmatch(_HASH, text)
    if match is None or not _COST_MIN <= int(match[1]) <= _COST_MAX:
        raise ValueError("malformed bcrypt hash")
    cost, salt, last, digest = match.groups()
    return BcryptHash(int(cost), salt + _ALPHABET[_ALPHABET.index(last) & _LAST_BITS], digest)
