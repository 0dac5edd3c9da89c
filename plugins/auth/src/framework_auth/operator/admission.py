"""Whether a user of a resolved account may log in, and with which permissions.

A machine without clock and network. Source: nats-server `auth.go`,
`processClientOrLeafAuthentication`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from framework.spec import Accepted, ConnectionLimits, Permissions, SubjectRules
from framework_auth.claims import (
    ClaimsError,
    ExpiredError,
    RevokedError,
    UserClaims,
    UserRules,
)
from framework_auth.keys import decode_signature, is_signed
from framework_auth.operator.templates import Facts, fill_rules
from framework_auth.operator.user_limits import is_source_allowed, time_left_s

if TYPE_CHECKING:
    from framework.spec import LoginRequest
    from framework_auth.operator.trust import KnownAccount

CONNECTION_TYPES: Final = frozenset({
    *("STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS"),
})

CALLOUT_SUBJECT: Final = "$SYS.REQ.USER.AUTH"
"""Where services are asked about logins. Source: nats-server `auth_callout.go`."""


class Admitted(Struct, frozen=True):
    """User, permissions and limits of an accepted login."""

    claims: UserClaims
    rules: UserRules
    """As the claims say, or the scope of the signing key."""


class Proof(Struct, frozen=True):
    """Claims that a login was accepted for, to check them again later."""

    claims: UserClaims
    token: str
    account: str
    """Public key of the account that vouches for the user."""
    is_from_callout: bool = False
    """A service has vouched for the client, and the user is made for this connection alone."""


def admit(claims: UserClaims, known: KnownAccount, now_s: float) -> Admitted:
    """Check a user against its account.

    Args:
        claims: Of the user, of this account as they say.
        known: The account.
        now_s: Unix time.

    Raises:
        ClaimsError: The account does not vouch for the user, or not any more.
    """
    claims.standard.check_time(now_s)
    if known.claims.standard.is_expired(now_s):
        raise ExpiredError("account JWT has expired")
    rules = _rules_of(claims, known)
    if rules.is_proxy_required:
        raise ClaimsError("the user needs a proxy, which is not supported")
    if rules.is_bearer and known.claims.disallow_bearer:
        raise ClaimsError("account does not allow bearer tokens")
    if known.claims.is_revoked(claims.standard.subject, claims.standard.issued_s):
        raise RevokedError("user authentication revoked")
    return Admitted(claims, rules)


def check_connection(rules: UserRules, request: LoginRequest, now_s: float) -> float:
    """Check where, when and by what kind of connection a user comes.

    Returns:
        Unix time at which its hours are over; 0: never.

    Raises:
        ClaimsError: It may not connect like this.
    """
    types = {name.upper() for name in rules.connection_types}
    # Types that this server does not know do no harm beside one that it knows.
    if types and request.connection_type not in types & CONNECTION_TYPES:
        raise ClaimsError("connection type not allowed")
    if not is_source_allowed(rules.sources, request.host):
        raise ClaimsError("source network not allowed")
    left_s = time_left_s(rules, now_s)
    if left_s is None:
        raise ClaimsError("outside connect times")
    return now_s + left_s if left_s else 0.0


def check_nonce(claims: UserClaims, request: LoginRequest) -> None:
    """Check that the client has the user's key.

    Raises:
        ClaimsError: It has not signed the nonce of its own connection.
    """
    if not request.connect.sig:
        raise ClaimsError("signature missing")
    signature = decode_signature(request.connect.sig)
    if signature is None:
        raise ClaimsError("signature not valid base64")
    if not request.nonce or not is_signed(request.nonce, signature, claims.standard.subject):
        raise ClaimsError("signature not verified")


def accept(admitted: Admitted, proof: Proof, hours_end_s: float) -> Accepted:
    """Return account, permissions and limits of a user who was checked."""
    claims, rules = admitted.claims, admitted.rules
    ends = [it for it in (float(claims.standard.expires_s), hours_end_s) if it]
    limits = ConnectionLimits(
        max_subscriptions=rules.max_subscriptions, max_payload=rules.max_payload
    )
    return Accepted(
        user=claims.standard.subject,
        account=proof.account,
        permissions=rules.permissions,
        limits=limits,
        expires_s=min(ends, default=0.0),
        name_tag=claims.standard.name,
        issuer=claims.standard.issuer,
        jwt=proof.token,
        tags=claims.standard.tags,
        proof=proof,
    )


def without_callout_subject(
    permissions: Permissions | None, default: Permissions | None
) -> Permissions:
    """Return permissions of a client in an account whose service decides on logins.

    Nobody but the server may ask the service. Source: nats-server `auth.go`,
    `mergeDenyPermissions`.
    """
    given = permissions or default or Permissions()
    rules = SubjectRules(allow=given.publish.allow, deny=(*given.publish.deny, CALLOUT_SUBJECT))
    return replace(given, publish=rules)


def _rules_of(claims: UserClaims, known: KnownAccount) -> UserRules:
    """Return what a user may; by a signing key with a scope, what that says."""
    signer = claims.standard.issuer
    if signer not in known.signing_keys:
        raise ClaimsError("user JWT issuer is not known")
    scope = known.signing_keys[signer]
    if scope is None:
        return claims.rules
    if claims.rules != UserRules():
        raise ClaimsError("scoped users require no permissions or limits set")
    account = known.claims
    facts = Facts(
        name=claims.standard.name,
        subject=claims.standard.subject,
        tags=claims.standard.tags,
        account_name=account.standard.name,
        account_subject=claims.issuer_account,
        account_tags=account.standard.tags,
    )
    return fill_rules(scope.template, facts)
