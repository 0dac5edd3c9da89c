"""Read authorization responses: for this request, and signed by the issuer.

A machine without clock and network. Source: nats-server `auth_callout.go`, `decodeResponse`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from framework_auth.claims import AuthorizationResponse, ClaimsError, UserClaims, read_claims_of
from framework_auth.claims.fields import shown

if TYPE_CHECKING:
    from framework.spec import LoginRequest
    from framework_auth.callout.judges import Judge
    from framework_auth.server_key import ServerKeys

_TOKEN_PREFIX: Final = b"eyJ"


@dataclass(frozen=True, slots=True)
class Asked:
    """One authorization request that waits for its response."""

    request: LoginRequest
    user_nkey: str
    """Public key drawn for it: an answer to another question has another one."""
    judge: Judge = field(repr=False)


def read_answer(payload: bytes, asked: Asked, keys: ServerKeys, now_s: float) -> UserClaims:
    """Return the user that a service lets in.

    Args:
        payload: Of the answer.
        asked: What it should answer.
        keys: Of this server.
        now_s: Unix time.

    Raises:
        ClaimsError: The service refuses, or the answer does not count.
    """
    if not payload:
        raise ClaimsError("auth callout violation: no reason supplied")
    token, is_encrypted = _decrypted(payload, asked, keys)
    response = read_claims_of(AuthorizationResponse, token)
    response.standard.check_time(now_s)
    if response.standard.subject != asked.user_nkey:
        raise ClaimsError("auth callout violation: the response is not for the expected user")
    if response.standard.audience != keys.signing.public:
        raise ClaimsError("auth callout violation: the response is not for this server")
    if not is_encrypted:
        # Only the service could encrypt it.
        asked.judge.check_signer(response)
    if response.error:
        raise ClaimsError(f"auth callout service returned an error: {shown(response.error)}")
    claims = read_claims_of(UserClaims, response.jwt)
    claims.standard.check_time(now_s)
    if claims.standard.subject != asked.user_nkey:
        raise ClaimsError("auth callout violation: the user is not the expected one")
    return claims


def _decrypted(payload: bytes, asked: Asked, keys: ServerKeys) -> tuple[str, bool]:
    """Return the token of an answer, and whether it was encrypted; it need not be."""
    xkey = asked.judge.xkey
    if not xkey or payload.startswith(_TOKEN_PREFIX):
        return payload.decode("ascii", "replace").strip(), False
    try:
        return keys.curve.open(payload, xkey).decode("ascii", "replace").strip(), True
    except ValueError as error:
        raise ClaimsError(f"error decrypting auth callout response: {error}") from None
