"""Exports, imports and mappings of an account, as `/accountz` shows them.

Source: nats-server `monitor.go`, `accountInfo`; the fields are those of NATS's JWT claims.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from framework.spec import ResponseKind, ServiceExport
from framework.spec.formats import time_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from framework.spec import (
        AccountSpec,
        LatencySampling,
        ServiceImport,
        StreamExport,
        StreamImport,
        SubjectMapping,
    )

_RESPONSES: Final = {
    ResponseKind.SINGLETON: "Singleton",
    ResponseKind.STREAM: "Streamed",
    ResponseKind.CHUNKED: "Chunked",
}
_NS_PER_S: Final = 1_000_000_000
_EVERYTHING: Final = 100


def exports_of(spec: AccountSpec, own: Sequence[ServiceExport]) -> list[dict[str, object]]:
    """Return the exports, services first; `own` are those that nobody configured."""
    return [_export(it) for it in (*spec.service_exports, *own, *spec.stream_exports)]


def _export(export: StreamExport) -> dict[str, object]:
    is_service = isinstance(export, ServiceExport)
    document: dict[str, object] = {
        "subject": export.subject,
        "type": "service" if is_service else "stream",
    }
    if export.token_required:
        document["token_req"] = True
    if isinstance(export, ServiceExport):
        document["response_type"] = _RESPONSES[export.response]
        if export.latency:
            document["service_latency"] = latency_document(export.latency)
    if export.accounts:
        document["approved_accounts"] = list(export.accounts)
    if export.revoked:
        document["revoked_activations"] = times_by_name(dict(export.revoked))
    return document


def stream_import(
    imported: StreamImport, invalid: Collection[tuple[str, str]]
) -> dict[str, object]:
    """Return an import of a stream; `invalid` has (account, subject) of those that do nothing."""
    return {
        "subject": imported.subject,
        "account": imported.account,
        "local_subject": imported.to,
        "type": "stream",
        "invalid": (imported.account, imported.subject) in invalid,
        "share": False,
        "tracking": False,
    }


def service_import(
    imported: ServiceImport,
    invalid: Collection[tuple[str, str]],
    latency: LatencySampling | None,
) -> dict[str, object]:
    """Return an import of a service, whose response times may be measured by the exporter."""
    document: dict[str, object] = {
        "subject": imported.subject,
        "account": imported.account,
        "to": imported.to,
        "local_subject": imported.to,
        "type": "service",
        "invalid": (imported.account, imported.subject) in invalid,
        "share": imported.share,
        "tracking": False,
    }
    return {**document, "latency": latency_document(latency)} if latency else document


def latency_document(latency: LatencySampling) -> dict[str, object]:
    """Return where samples go, and how many; `headers` when the request says so."""
    return {"sampling": latency.percent or "headers", "results": latency.subject}


def mappings_of(mappings: Sequence[SubjectMapping]) -> dict[str, list[dict[str, object]]]:
    """Return where messages go by subject; the smallest weight first, each counts those before it.

    What the weights leave stays where it was, and is shown too, unless the mapping names its own
    source: then it is lost. Source: nats-server `accounts.go`, `AddWeightedMappings`.
    """
    return {mapping.source: _destinations(mapping) for mapping in mappings}


def _destinations(mapping: SubjectMapping) -> list[dict[str, object]]:
    weights: dict[str, list[tuple[int, str]]] = {"": []}
    for it in mapping.destinations:
        weights.setdefault(it.cluster, []).append((it.weight, it.subject))
    names_itself = any(it.subject == mapping.source for it in mapping.destinations)
    shown = []
    for cluster, ways in weights.items():
        left = _EVERYTHING - sum(weight for weight, _ in ways)
        if left and not names_itself:
            ways.append((left, _as_destination(mapping.source)))
        reached = 0
        for weight, subject in sorted(ways, key=itemgetter(0)):
            reached += weight
            scope = {"cluster": cluster} if cluster else {}
            shown.append({"subject": subject, "weight": reached, **scope})
    return shown


def _as_destination(source: str) -> str:
    """Return a subject that maps to itself: its wildcards by number."""
    words, seen = [], 0
    for word in source.split("."):
        seen += word == "*"
        words.append(f"${seen}" if word == "*" else word)
    return ".".join(words)


def times_by_name(seconds: dict[str, int]) -> dict[str, str]:
    """Return Unix seconds as times."""
    return {name: time_text(second * _NS_PER_S) for name, second in seconds.items()}
