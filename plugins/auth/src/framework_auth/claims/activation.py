"""Activation claims: an account lets another import an export.

Source: jwt `activation_claims.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.standard import Standard, check_key, read_standard
from framework_auth.claims.subjects import check_subject

if TYPE_CHECKING:
    from framework_auth.claims.token import Token

KINDS = {"stream": "stream", "service": "service"}
"""What may be exported."""


class ActivationClaims(Struct, frozen=True, kw_only=True):
    """A permission to import, signed by the exporter or a signing key of it."""

    standard: Standard
    """Its subject is the account that may import."""
    subject: str
    """What may be imported; may have wildcards."""
    kind: str
    """`stream` or `service`."""
    issuer_account: str = ""
    """Account that the signing key belongs to; empty: the issuer is the account itself."""

    @property
    def account(self) -> str:
        """Public key of the account that exports."""
        return self.issuer_account or self.standard.issuer


def read_activation(token: Token) -> ActivationClaims:
    """Read the claims of an activation.

    Raises:
        ClaimsError: They say what no activation may say.
    """
    nats = token.fields.nested("nats")
    is_old = token.version == 1
    claims = ActivationClaims(
        standard=read_standard(token),
        subject=nats.text("subject"),
        kind=nats.choose("type" if is_old else "kind", KINDS),
        issuer_account=(token.fields if is_old else nats).text("issuer_account"),
    )
    if not is_public_key(claims.standard.issuer, NkeyKind.ACCOUNT, NkeyKind.OPERATOR):
        raise ClaimsError("issuer is neither an account nor an operator public key")
    check_key(claims.standard.subject, "subject", NkeyKind.ACCOUNT)
    if claims.issuer_account:
        check_key(claims.issuer_account, "issuer_account", NkeyKind.ACCOUNT)
    check_subject(claims.subject, "activation")
    return claims
