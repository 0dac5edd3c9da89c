"""Imports from the system account, and mappings, that accounts have without configuring them.

A server without JetStream beside others that have it lets accounts ask these by `$JS.API.>`.

Source: nats-server `events.go`, `addSystemAccountExports`, `registerSystemImports`; `server.go`,
`configureAccounts`; `jetstream.go`, `enableAllJetStreamServiceImportsAndMappings`;
`jetstream_api.go`, `generateJSMappingTable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.dataplane.tables import ServiceImportRow
from framework.spec import MappedDestination, ResponseKind, ServiceExport, SubjectMapping
from framework.wire.subject import is_literal, is_subset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.spec import AccountSpec

_EXPORTS: Final = (
    *(
        ServiceExport(
            subject=f"$SYS.REQ.ACCOUNT.*.{what}",
            response=ResponseKind.STREAM,
            account_token_position=4,
        )
        for what in ("CONNZ", "STATZ")
    ),
    ServiceExport(subject="$SYS.DEBUG.SUBSCRIBERS"),
    ServiceExport(subject="$SYS.REQ.USER.*.INFO"),
)


JETSTREAM_API: Final = "$JS.API.>"


def own_system_exports(
    configured: Sequence[ServiceExport], *, jetstream: bool
) -> tuple[ServiceExport, ...]:
    """Return what the system account exports besides what it is configured to.

    Args:
        configured: What it exports anyway.
        jetstream: Other servers may answer `$JS.API.>` in it.
    """
    own = (*_EXPORTS, ServiceExport(subject=JETSTREAM_API)) if jetstream else _EXPORTS
    return tuple(
        it for it in own if not any(is_subset(it.subject, other.subject) for other in configured)
    )


_OF_DOMAIN: Final = (
    ("INFO", "$JS.API.INFO"),
    *((f"{what}.>", f"$JS.API.{what}.>") for what in ("STREAM", "CONSUMER", "DIRECT")),
    *((f"{what}.>", f"$JS.API.{what}.>") for what in ("META", "SERVER", "ACCOUNT")),
    ("$KV.>", "$KV.>"),
    ("$OBJ.>", "$OBJ.>"),
)
"""What follows `$JS.<domain>.API.`, and where it leads."""
_WHOLE_PERCENT: Final = 100


def domain_mappings(domain: str, configured: Sequence[SubjectMapping]) -> Sequence[SubjectMapping]:
    """Return the mappings by which an account reaches JetStream by the name of its domain.

    Args:
        domain: Of this server.
        configured: Mappings of the account; what these map is left to them.
    """
    theirs = {it.source for it in configured}
    mappings = {f"$JS.{domain}.API.{suffix}": to for suffix, to in _OF_DOMAIN}
    return [
        SubjectMapping(
            source=source, destinations=(MappedDestination(subject=to, weight=_WHOLE_PERCENT),)
        )
        for source, to in mappings.items()
        if source not in theirs
    ]


def default_domain_mappings(domain: str) -> Sequence[SubjectMapping]:
    """Return the mappings that lead an account's requests to a domain elsewhere.

    Source: nats-server `server.go`, `configureAccounts`; `jetstream_api.go`, as above.
    """
    return [
        SubjectMapping(
            source=source,
            destinations=(
                MappedDestination(subject=f"$JS.{domain}.API.{suffix}", weight=_WHOLE_PERCENT),
            ),
        )
        for suffix, source in _OF_DOMAIN
    ]


def system_imports(
    spec: AccountSpec, system_account: str, index: int, *, jetstream: bool
) -> tuple[ServiceImportRow, ...]:
    """Return the imports of an account to the system account; its configured imports go before.

    Args:
        spec: The system account itself has one of them.
        system_account: Its name.
        index: Its number in the data plane.
        jetstream: The account's requests to `$JS.API.>` go there.

    Returns:
        None for an account whose name can't stand in a subject.
    """
    name = spec.name
    if not is_literal(name):
        return ()
    own = {it.to for it in spec.service_imports}
    wanted = [
        ("$SYS.REQ.USER.INFO", f"$SYS.REQ.USER.{name}.INFO", ResponseKind.SINGLETON),
    ]
    if name != system_account:
        connz = f"$SYS.REQ.ACCOUNT.{name}.CONNZ"
        wanted += [
            ("$SYS.REQ.ACCOUNT.PING.CONNZ", connz, ResponseKind.STREAM),
            ("$SYS.REQ.SERVER.PING.CONNZ", connz, ResponseKind.STREAM),
            (
                "$SYS.REQ.ACCOUNT.PING.STATZ",
                f"$SYS.REQ.ACCOUNT.{name}.STATZ",
                ResponseKind.STREAM,
            ),
        ]
    if jetstream and name != system_account:
        wanted.append((JETSTREAM_API, JETSTREAM_API, ResponseKind.SINGLETON))
    return tuple(
        ServiceImportRow(
            account=index,
            subject=subject,
            to=to,
            response=response,
            # Who asks for itself is told by the header.
            share=response is ResponseKind.SINGLETON,
            names_server=True,
        )
        for to, subject, response in wanted
        if to not in own
    )
