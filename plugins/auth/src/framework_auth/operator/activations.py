"""Check the activation of an import.

Source: nats-server `accounts.go`, `checkActivation`; jwt `imports.go`, `Validate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.wire.subject import is_subset
from framework_auth.claims import ActivationClaims, ClaimsError, read_claims_of

if TYPE_CHECKING:
    from framework_auth.claims import AccountImport
    from framework_auth.operator.trust import KnownAccount


def check_activation(
    wanted: AccountImport, importer: str, exporter: KnownAccount, now_s: float
) -> ActivationClaims:
    """Return the activation of an import.

    Args:
        wanted: With its token.
        importer: Public key of the account that imports.
        exporter: The account that exports.
        now_s: Unix time.

    Raises:
        ClaimsError: It is not valid, not for this import, or not signed by the exporter.
    """
    activation = read_claims_of(ActivationClaims, wanted.token)
    activation.standard.check_time(now_s)
    if activation.account != exporter.claims.name:
        raise ClaimsError("activation is of another account than the import")
    if activation.issuer_account and activation.standard.issuer not in exporter.signing_keys:
        raise ClaimsError("activation is not signed by the exporter")
    if activation.standard.subject != importer:
        raise ClaimsError("activation is for another account")
    if activation.kind != wanted.kind:
        raise ClaimsError("activation is of another kind than the import")
    if not is_subset(wanted.subject, activation.subject):
        raise ClaimsError("activation is for other subjects than the import")
    return activation
