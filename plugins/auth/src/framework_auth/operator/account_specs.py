"""Build an account for the core from its claims.

Source: nats-server `accounts.go`, `updateAccountClaimsWithRefresh`, `buildInternalAccount`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from framework.spec import AccountSpec, ServiceExport, ServiceImport, StreamExport, StreamImport
from framework_auth.claims import ClaimsError
from framework_auth.operator.activations import check_activation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework_auth.claims import AccountClaims, AccountExport, AccountImport
    from framework_auth.operator.trust import KnownAccount

STREAM: Final = "stream"


@dataclass(slots=True)
class BuiltAccount:
    """An account, and the accounts whose updates concern it."""

    spec: AccountSpec
    expires_s: float = 0.0
    """Unix time at which it has to be built anew, since an activation ends; 0: never."""
    problems: list[str] = field(default_factory=list)
    """Imports that do nothing, and why; for the log."""


def build_account(
    known: KnownAccount, others: Mapping[str, KnownAccount], now_s: float
) -> BuiltAccount:
    """Return the account that its claims describe.

    Args:
        known: The account.
        others: By public key; accounts that it imports from may be missing.
        now_s: Unix time.
    """
    claims = known.claims
    built = BuiltAccount(AccountSpec(name=claims.name))
    streams = [it for it in claims.imports if it.kind == STREAM]
    services = [it for it in claims.imports if it.kind != STREAM]

    def activated(wanted: AccountImport) -> float | None:
        return _activated_s(built, wanted, claims.name, others, now_s)

    built.spec = AccountSpec(
        name=claims.name,
        name_tag=claims.standard.name,
        mappings=claims.mappings,
        stream_exports=tuple(_stream_export(it) for it in claims.exports if it.kind == STREAM),
        service_exports=tuple(_service_export(it) for it in claims.exports if it.kind != STREAM),
        stream_imports=tuple(_stream_import(it, activated(it)) for it in streams),
        service_imports=tuple(_service_import(it, activated(it)) for it in services),
        limits=claims.limits,
        default_permissions=claims.default_rules.permissions,
        trace_destination=claims.trace_destination,
        trace_sampling_percent=claims.trace_sampling_percent,
        jetstream=claims.stream_limits or None,
        claim=known.token,
        issuer=claims.standard.issuer,
        tags=claims.standard.tags,
        expires_s=float(claims.standard.expires_s),
    )
    return built


def exporters_of(claims: AccountClaims) -> frozenset[str]:
    """Return the accounts that an account imports from."""
    return frozenset(it.account for it in claims.imports)


def _activated_s(
    built: BuiltAccount,
    wanted: AccountImport,
    importer: str,
    others: Mapping[str, KnownAccount],
    now_s: float,
) -> float | None:
    """Return when the exporter let the importer in; None when it did not, or is not known yet."""
    exporter = others.get(wanted.account)
    if not wanted.token or exporter is None:
        return None
    try:
        activation = check_activation(wanted, importer, exporter, now_s)
    except ClaimsError as error:
        built.problems.append(f"import of {wanted.subject} from {wanted.account}: {error}")
        return None
    if expires_s := activation.standard.expires_s:
        built.expires_s = min(built.expires_s or expires_s, expires_s)
    return float(activation.standard.issued_s)


def _stream_export(export: AccountExport) -> StreamExport:
    return StreamExport(
        subject=export.subject,
        token_required=export.token_required,
        account_token_position=export.account_token_position,
        revoked=export.revocations,
    )


def _service_export(export: AccountExport) -> ServiceExport:
    return ServiceExport(
        subject=export.subject,
        token_required=export.token_required,
        account_token_position=export.account_token_position,
        revoked=export.revocations,
        response=export.response,
        threshold_s=export.threshold_s,
        latency=export.latency,
        allow_trace=export.allow_trace,
    )


def _stream_import(wanted: AccountImport, activated_s: float | None) -> StreamImport:
    return StreamImport(
        account=wanted.account,
        subject=wanted.subject,
        to=wanted.to,
        allow_trace=wanted.allow_trace,
        activated_s=activated_s,
    )


def _service_import(wanted: AccountImport, activated_s: float | None) -> ServiceImport:
    return ServiceImport(
        account=wanted.account,
        subject=wanted.subject,
        to=wanted.to,
        share=wanted.share,
        activated_s=activated_s,
    )
