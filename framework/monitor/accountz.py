"""`/accountz`: accounts, and one account in detail.

Source: nats-server `monitor.go`, `Accountz` and `accountInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.errors import BadQuery
from framework.monitor.account_imports import (
    exports_of,
    mappings_of,
    service_import,
    stream_import,
    times_by_name,
)
from framework.monitor.claim import claim_of_token, revocations_of_claim
from framework.monitor.head import head
from framework.monitor.sublist_stats import sublist_stats
from framework.spec import ServiceImport
from framework.spec.formats import time_text
from framework.wire.subject import is_subset

if TYPE_CHECKING:
    from framework.monitor.options import AccountzOptions
    from framework.monitor.source import MonitorSource
    from framework.spec import AccountSpec, LatencySampling

_NAME_SHOWN_CHARS_MAX: Final = 200


async def answer_accountz(source: MonitorSource, options: AccountzOptions) -> object:
    """Return the names of all accounts, or one account by its name.

    Raises:
        BadQuery: There is no such account.
    """
    system = source.accounts.system_account
    document = {**head(source), **({"system_account": system} if system else {})}
    if not options.account:
        return {**document, "accounts": list(source.accounts.names())}
    return {**document, "account_detail": await answer_account_info(source, options)}


async def answer_account_info(source: MonitorSource, options: AccountzOptions) -> object:
    """Return one account by its name.

    Raises:
        BadQuery: There is no such account.
    """
    name = options.account
    spec = source.accounts.get(name)
    if spec is None:
        raise BadQuery(f"Account {name[:_NAME_SHOWN_CHARS_MAX]} does not exist")
    counters = source.sublist_counters(source.accounts.index(name))
    return {
        "account_name": name,
        "update_time": time_text(source.facts.config_loaded_ns),
        **({"is_system": True} if name == source.accounts.system_account else {}),
        "expired": 0 < spec.expires_s <= source.wall_ns(source.monotonic_ns()) / 1e9,
        "complete": True,
        "jetstream_enabled": source.accounts.jetstream_limits(name) is not None,
        "leafnode_connections": source.leafnode_counts().get(name, 0),
        "client_connections": source.connection_counts().get(name, 0),
        "subscriptions": counters.subscriptions,
        **_without_empty(
            mappings=mappings_of((*spec.mappings, *source.system_mappings(name))),
            exports=exports_of(spec, source.system_exports(name)),
            imports=_imports_of(source, spec),
        ),
        **_origin_of(spec),
        "sublist_stats": sublist_stats(counters),
    }


def _imports_of(source: MonitorSource, spec: AccountSpec) -> list[dict[str, object]]:
    invalid = source.invalid_imports(spec.name)
    system = source.accounts.system_account
    own = [
        ServiceImport(account=system, subject=subject, to=to, share=share)
        for to, subject, share in source.system_imports(spec.name)
    ]
    return [
        *(stream_import(it, invalid) for it in spec.stream_imports),
        *(
            service_import(it, invalid, _latency_of(source, it))
            for it in (*spec.service_imports, *own)
        ),
    ]


def _latency_of(source: MonitorSource, imported: ServiceImport) -> LatencySampling | None:
    """Return how the exporter of a service measures it."""
    exporter = source.accounts.get(imported.account)
    exports = exporter.service_exports if exporter else ()
    return next((it.latency for it in exports if is_subset(imported.subject, it.subject)), None)


def _origin_of(spec: AccountSpec) -> dict[str, object]:
    """Return who vouches for an account: the configuration has a name for it at most."""
    claim = claim_of_token(spec.claim)
    return _without_empty(
        jwt=spec.claim,
        issuer_key=spec.issuer,
        name_tag=spec.name_tag or spec.name,
        tags=list(spec.tags),
        decoded_jwt=claim,
        revoked_user=times_by_name(revocations_of_claim(claim)),
    )


def _without_empty(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value}
