"""Hashes of names, as they stand in the subjects of replies."""

from __future__ import annotations

import hashlib
import string

from framework_gateway.limits import HASH_CHARS

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def short_hash(name: str) -> str:
    """Return six characters that stand for a cluster, or a server ID, in the subject of a reply.

    Source: nats-server `util.go`, `getHashSize`; `gateway.go`, `getGWHash`.
    """
    digest = hashlib.sha256(name.encode()).digest()[:HASH_CHARS]
    return "".join(_DIGITS[byte % len(_DIGITS)] for byte in digest)
