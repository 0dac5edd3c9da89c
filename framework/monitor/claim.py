"""The claims of a JWT as JSON, for `/accountz` and `/connz`; its signature was checked before."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final

_PARTS: Final = 3


def claim_of_token(token: str) -> dict[str, object]:
    """Return the claim that is in a JWT; empty when there is none."""
    parts = token.split(".")
    if len(parts) != _PARTS:
        return {}
    try:
        claim = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return {}
    return claim if isinstance(claim, dict) else {}


def revocations_of_claim(claim: dict[str, object]) -> dict[str, int]:
    """Return the users that an account has revoked, and the Unix seconds from which on."""
    revoked = _nats(claim).get("revocations")
    if not isinstance(revoked, dict):
        return {}
    return {user: second for user, second in revoked.items() if isinstance(second, int)}


def is_bearer(token: str) -> bool:
    """Tell whether who has this JWT needs no key to log in: then it is a secret."""
    return bool(token) and _nats(claim_of_token(token)).get("bearer_token") is True


def _nats(claim: dict[str, object]) -> dict[str, object]:
    nats = claim.get("nats")
    return nats if isinstance(nats, dict) else {}
