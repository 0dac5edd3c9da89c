"""Exports and imports in account claims.

Source: jwt `exports.go`, `imports.go`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.spec import LatencySampling, ResponseKind
from framework.wire.nkey import NkeyKind
from framework.wire.subject import is_subset
from framework_auth.claims.activation import KINDS
from framework_auth.claims.errors import ClaimsError
from framework_auth.claims.fields import Fields, shown
from framework_auth.claims.standard import check_key
from framework_auth.claims.subjects import (
    check_literal,
    check_subject,
    has_wildcards,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from framework.spec import AccountLimits

_RESPONSES: Final = {
    "": ResponseKind.SINGLETON,
    "Singleton": ResponseKind.SINGLETON,
    "Stream": ResponseKind.STREAM,
    "Chunked": ResponseKind.CHUNKED,
}
_NS_PER_S: Final = 1_000_000_000
_REFERENCE: Final = re.compile(r"\$(\d+)", re.ASCII)
_WILDCARD: Final = "*"
_OVERLAPS_COMPARED_MAX: Final = 2_000
"""Subjects of one kind that are compared each with each: more are not looked at."""


class AccountExport(Struct, frozen=True, kw_only=True):
    """An export."""

    subject: str
    kind: str
    """`stream` or `service`."""
    token_required: bool = False
    revocations: tuple[tuple[str, int], ...] = ()
    """By importer, or `*`: activations issued until this Unix time do not count."""
    response: ResponseKind = ResponseKind.SINGLETON
    threshold_s: float = 0.0
    latency: LatencySampling | None = None
    account_token_position: int = 0
    allow_trace: bool = False


class AccountImport(Struct, frozen=True, kw_only=True):
    """An import."""

    account: str
    """Public key of the exporter."""
    kind: str
    """`stream` or `service`."""
    subject: str
    """As the exporter has it, in both kinds."""
    to: str
    """As clients of the importer have it; `$1` stands for the first wildcard of `subject`."""
    token: str = ""
    """Activation; empty: none is needed."""
    share: bool = False
    allow_trace: bool = False


def read_export(fields: Fields) -> AccountExport:
    """Read an export of account claims.

    Raises:
        ClaimsError: It is malformed.
    """
    threshold_ns = fields.number("response_threshold")
    export = AccountExport(
        subject=fields.text("subject"),
        kind=fields.choose("type", KINDS),
        token_required=fields.flag("token_req"),
        revocations=tuple(fields.table("revocations", Fields.number).items()),
        response=fields.choose("response_type", _RESPONSES),
        threshold_s=threshold_ns / _NS_PER_S,
        latency=_read_latency(fields),
        account_token_position=fields.number("account_token_position"),
        allow_trace=fields.flag("allow_trace"),
    )
    check_subject(export.subject, "export")
    if export.kind == "stream" and (
        fields.text("response_type") or export.allow_trace or export.latency or threshold_ns
    ):
        raise ClaimsError(f"export {shown(export.subject)}: a stream has no responses")
    if threshold_ns < 0:
        raise ClaimsError(f"export {shown(export.subject)}: threshold is negative")
    _check_position(export)
    return export


def read_import(fields: Fields) -> AccountImport:
    """Read an import of account claims.

    Raises:
        ClaimsError: It is malformed.
    """
    kind = fields.choose("type", KINDS)
    subject, old, local = (fields.text(it) for it in ("subject", "to", "local_subject"))
    if old and local:
        raise ClaimsError(f"import {shown(subject)}: `local_subject` replaces `to`")
    check_key(fields.text("account"), "account of an import", NkeyKind.ACCOUNT)
    check_subject(subject, "import")
    for other in filter(None, (old, local)):
        check_subject(other, "import")
    if local:
        _check_renaming(subject, local)
    if kind == "service" and old:
        # Here `to` is what the exporter has.
        subject, local = old, subject
    elif old:
        # A prefix, which nats-server puts before the subject.
        local = f"{old}.{subject}"
    if kind == "stream" and fields.flag("share"):
        raise ClaimsError(f"import {shown(subject)}: only a service is shared")
    if kind == "service" and fields.flag("allow_trace"):
        raise ClaimsError(f"import {shown(subject)}: only a stream allows traces")
    return AccountImport(
        account=fields.text("account"),
        kind=kind,
        subject=subject,
        to=local or subject,
        token=fields.text("token"),
        share=fields.flag("share"),
        allow_trace=fields.flag("allow_trace"),
    )


def check_imports(
    imports: Sequence[AccountImport], exports: Sequence[AccountExport], limits: AccountLimits
) -> None:
    """Refuse more exports and imports than an account may have, and overlapping ones.

    Raises:
        ClaimsError: There are such.
    """
    if 0 <= limits.max_imports < len(imports):
        raise ClaimsError("the account contains more imports than allowed by the operator")
    if 0 <= limits.max_exports < len(exports):
        raise ClaimsError("the account contains more exports than allowed by the operator")
    if (
        limits.max_exports >= 0
        and not limits.wildcard_exports
        and any(has_wildcards(it.subject) for it in exports)
    ):
        raise ClaimsError("the account contains wildcard exports, not allowed by the operator")
    for kind in KINDS:
        _check_overlaps("exports", [it.subject for it in exports if it.kind == kind])
    by_account: dict[str, list[str]] = {}
    for it in imports:
        if it.kind == "service":
            by_account.setdefault(it.account, []).append(_REFERENCE.sub("*", it.to))
    for subjects in by_account.values():
        _check_overlaps("imports", subjects)


def _read_latency(fields: Fields) -> LatencySampling | None:
    if not fields.has("service_latency"):
        return None
    inner = fields.nested("service_latency")
    check_literal(inner.text("results"), "latency")
    if inner.raw("sampling") == "headers":
        return LatencySampling(subject=inner.text("results"), percent=0)
    percent = inner.number("sampling")
    if not 0 <= percent <= 100:  # noqa: PLR2004 - percent
        raise ClaimsError("latency sampling is not between 1 and 100")
    return LatencySampling(subject=inner.text("results"), percent=percent)


def _check_position(export: AccountExport) -> None:
    position = export.account_token_position
    if not position:
        return
    tokens = export.subject.split(".")
    if not 0 < position <= len(tokens) or tokens[position - 1] != "*":
        raise ClaimsError(
            f"export {shown(export.subject)}: account_token_position {position} is no `*`"
        )


def _check_renaming(subject: str, local: str) -> None:
    """Refuse a name that does not use every wildcard. Source: `types.go`, `RenamingSubject`."""
    wildcards = subject.split(".").count("*")
    used = 0
    for token in local.split("."):
        match = _REFERENCE.fullmatch(token)
        if match and int(match[1]) > wildcards:
            raise ClaimsError(f"import {shown(local)}: {token} has no wildcard")
        used += bool(match or token == _WILDCARD)
    if used != wildcards or _is_open(subject) is not _is_open(local):
        raise ClaimsError(f"import {shown(local)}: does not use the wildcards of its subject")


def _is_open(subject: str) -> bool:
    return subject.rpartition(".")[2] == ">"


def _check_overlaps(what: str, subjects: Iterable[str]) -> None:
    """Refuse two subjects of which one is within the other. Cost: the square of their number."""
    seen: list[str] = []
    for subject in list(subjects)[:_OVERLAPS_COMPARED_MAX]:
        for other in seen:
            if is_subset(subject, other) or is_subset(other, subject):
                raise ClaimsError(f"{what} {shown(subject)} and {shown(other)} overlap")
        seen.append(subject)
