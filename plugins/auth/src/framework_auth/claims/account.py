"""Account claims: limits, exports, imports, signing keys.

Source: jwt `account_claims.go`, `exports.go`, `imports.go`, `signingkeys.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from framework.spec import (
    ALL_TIERS,
    AccountLimits,
    JetStreamLimits,
    MappedDestination,
    SubjectMapping,
)
from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.claims.account_imports import (
    AccountExport,
    AccountImport,
    check_imports,
    read_export,
    read_import,
)
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.fields import Fields, shown
from framework_auth.claims.standard import Standard, check_key, read_standard
from framework_auth.claims.subjects import check_literal, check_subject
from framework_auth.claims.user import UserRules, read_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_auth.claims.token import Token

ALL: Final = "*"
"""In revocations and among allowed accounts: everybody."""

_WEIGHT_MAX: Final = 100
_UNLIMITED: Final = -1


class Scope(Struct, frozen=True, kw_only=True):
    """A scoped signing key: its template replaces the permissions of its users."""

    role: str
    template: UserRules
    """Its subjects may have `{{name()}}` and the like in them."""


class Callout(Struct, frozen=True, kw_only=True):
    """Auth callout of an account. Source: ADR-26."""

    auth_users: tuple[str, ...] = ()
    """Public keys of users who log in without being asked about; empty: there is no callout."""
    allowed_accounts: tuple[str, ...] = ()
    """Where else users may be let in; `*`: everywhere."""
    xkey: str = ""
    """Public xkey that requests are encrypted for; empty: they are not."""


class AccountClaims(Struct, frozen=True, kw_only=True):
    """The claims of an account."""

    standard: Standard
    imports: tuple[AccountImport, ...] = ()
    exports: tuple[AccountExport, ...] = ()
    limits: AccountLimits = field(default_factory=AccountLimits)
    disallow_bearer: bool = False
    stream_limits: Mapping[str, JetStreamLimits] = field(default_factory=dict)
    """By tier; the empty name: of all. Empty: it may have no streams."""
    signing_keys: Mapping[str, Scope | None] = field(default_factory=dict)
    """By public key; None: as good as the account's own."""
    revocations: Mapping[str, int] = field(default_factory=dict)
    """By public key of a user, or `*`: claims issued until this Unix time do not count."""
    default_rules: UserRules = field(default_factory=UserRules)
    """What users may whose claims say nothing."""
    mappings: tuple[SubjectMapping, ...] = ()
    callout: Callout = field(default_factory=Callout)
    trace_destination: str = ""
    trace_sampling_percent: int = 100

    @property
    def name(self) -> str:
        """Its public key."""
        return self.standard.subject

    def is_revoked(self, user: str, issued_s: int) -> bool:
        """Tell whether a user's claim was taken back after it was issued."""
        return any(self.revocations.get(key, -1) >= issued_s for key in (user, ALL))


def read_account(token: Token) -> AccountClaims:
    """Read the claims of an account.

    Raises:
        ClaimsError: They say what no account may say.
    """
    nats = token.fields.nested("nats")
    limits = nats.nested("limits")
    trace = nats.nested("trace")
    claims = AccountClaims(
        standard=read_standard(token),
        imports=tuple(read_import(it) for it in nats.objects("imports")),
        exports=tuple(read_export(it) for it in nats.objects("exports")),
        limits=_read_limits(limits),
        disallow_bearer=limits.flag("disallow_bearer"),
        stream_limits={} if token.version == 1 else _read_stream_limits(limits),
        signing_keys=_read_signing_keys(nats),
        revocations=nats.table("revocations", Fields.number),
        default_rules=read_rules(nats.nested("default_permissions"), unlimited=0),
        mappings=tuple(nats.table("mappings", _read_mapping).values()),
        callout=_read_callout(nats.nested("authorization")),
        trace_destination=trace.text("dest"),
        trace_sampling_percent=trace.number("sampling") or 100,
    )
    _check(claims, has_trace=nats.has("trace"))
    return claims


def _check(claims: AccountClaims, *, has_trace: bool) -> None:
    standard = claims.standard
    if not is_public_key(standard.issuer, NkeyKind.ACCOUNT, NkeyKind.OPERATOR):
        raise ClaimsError("issuer is neither an account nor an operator public key")
    check_key(standard.subject, "subject", NkeyKind.ACCOUNT)
    check_imports(claims.imports, claims.exports, claims.limits)
    if has_trace:
        check_literal(claims.trace_destination, "trace")
        if not 1 <= claims.trace_sampling_percent <= 100:  # noqa: PLR2004 - percent
            raise ClaimsError("trace sampling is not between 1 and 100")


def _read_limits(fields: Fields) -> AccountLimits:
    """Read limits; what is absent is 0, which is none at all."""
    return AccountLimits(
        max_connections=fields.number("conn"),
        max_leafnodes=fields.number("leaf"),
        max_subscriptions=fields.number("subs"),
        max_payload=fields.number("payload"),
        max_imports=fields.number("imports"),
        max_exports=fields.number("exports"),
        wildcard_exports=fields.flag("wildcards"),
    )


def _read_stream_limits(fields: Fields) -> dict[str, JetStreamLimits]:
    def read(parent: Fields, tier: str) -> JetStreamLimits:
        return _read_tier(parent.nested(tier))

    tiers = fields.table("tiered_limits", read) or {ALL_TIERS: _read_tier(fields)}
    return {name: it for name, it in tiers.items() if it.max_memory or it.max_storage}


def _read_tier(fields: Fields) -> JetStreamLimits:
    def optional(name: str) -> int:
        value = fields.number(name)
        return value if value > 0 else _UNLIMITED

    return JetStreamLimits(
        max_memory=fields.number("mem_storage"),
        max_storage=fields.number("disk_storage"),
        max_streams=fields.number("streams"),
        max_consumers=fields.number("consumer"),
        max_ack_pending=optional("max_ack_pending"),
        memory_max_stream_bytes=optional("mem_max_stream_bytes"),
        storage_max_stream_bytes=optional("disk_max_stream_bytes"),
        max_bytes_required=fields.flag("max_bytes_required"),
    )


def _read_signing_keys(nats: Fields) -> dict[str, Scope | None]:
    """Read keys: a text, or an object that says what its users may."""
    keys: dict[str, Scope | None] = {}
    for item in nats.items("signing_keys"):
        if isinstance(item, str):
            keys[item] = None
        elif isinstance(item, dict):
            fields = Fields(item, "signing_keys")
            if fields.text("kind") != "user_scope":
                raise ClaimsError(f"scope {shown(fields.text('kind'))} is not known")
            template = read_rules(fields.nested("template"), unlimited=_UNLIMITED)
            keys[fields.text("key")] = Scope(role=fields.text("role"), template=template)
        else:
            raise ClaimsError("a signing key is neither a string nor an object")
    for key in keys:
        check_key(key, "signing key", NkeyKind.ACCOUNT)
    return keys


def _read_mapping(parent: Fields, source: str) -> SubjectMapping:
    """Read where messages of a subject go.

    Source: nats-server `accounts.go`, `validateAccountClaimMappings`.
    """
    check_subject(source, "mapping")
    destinations = tuple(
        MappedDestination(
            subject=it.text("subject"),
            weight=it.number("weight") or _WEIGHT_MAX,
            cluster=it.text("cluster"),
        )
        for it in parent.objects(source)
    )
    weights: dict[str, int] = {}
    for it in destinations:
        check_subject(it.subject, "mapping")
        weights[it.cluster] = weights.get(it.cluster, 0) + it.weight
        if it.weight < 0 or weights[it.cluster] > _WEIGHT_MAX:
            raise ClaimsError(f"mapping {shown(source)}: weights are not within 0 and 100")
    return SubjectMapping(source=source, destinations=destinations)


def _read_callout(fields: Fields) -> Callout:
    callout = Callout(
        auth_users=fields.texts("auth_users"),
        allowed_accounts=fields.texts("allowed_accounts"),
        xkey=fields.text("xkey"),
    )
    for user in callout.auth_users:
        check_key(user, "auth user", NkeyKind.USER)
    for account in callout.allowed_accounts:
        if account != ALL or len(callout.allowed_accounts) > 1:
            check_key(account, "allowed account", NkeyKind.ACCOUNT)
    if callout.allowed_accounts and not callout.auth_users:
        raise ClaimsError("allowed accounts need auth users")
    if callout.xkey:
        check_key(callout.xkey, "xkey", NkeyKind.CURVE)
    return callout
