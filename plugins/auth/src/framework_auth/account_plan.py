"""Make accounts for the core from the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from framework.spec import (
    GLOBAL_ACCOUNT,
    SYSTEM_ACCOUNT,
    AccountLimits,
    AccountPlan,
    AccountSpec,
    LatencySampling,
    MappedDestination,
    ResponseKind,
    ServiceExport,
    ServiceImport,
    StreamExport,
    StreamImport,
    SubjectMapping,
)
from framework_auth.jetstream_options import jetstream_limits
from framework_auth.permission_options import permissions_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Block = Mapping[str, Any]

_RESPONSES: Final = {
    "single": ResponseKind.SINGLETON,
    "singleton": ResponseKind.SINGLETON,
    "stream": ResponseKind.STREAM,
    "chunk": ResponseKind.CHUNKED,
    "chunked": ResponseKind.CHUNKED,
}


def account_plan(values: Block) -> AccountPlan:
    """Return the accounts of a valid configuration.

    Args:
        values: Of all options of the top level.
    """
    accounts = tuple(
        account_from(name, block) for name, block in (values["accounts"] or {}).items()
    )
    if values["mappings"]:
        everybody = AccountSpec(name=GLOBAL_ACCOUNT, mappings=_mappings(values["mappings"]))
        accounts = (everybody, *accounts)
    return AccountPlan(
        accounts=accounts,
        system_account=system_account_of(values),
        default_domains=values["default_js_domain"] or {},
    )


def system_account_of(values: Block) -> str:
    """Return the name of the system account; empty when there is none."""
    if values["no_system_account"]:
        return ""
    return values["system_account"] or SYSTEM_ACCOUNT


def account_from(name: str, block: Block) -> AccountSpec:
    """Return one account."""
    trace = block["msg_trace"]
    return AccountSpec(
        name=name,
        mappings=_mappings(block["mappings"]),
        stream_exports=tuple(_stream_export(it) for it in block["exports"] if it["stream"]),
        service_exports=tuple(_service_export(it) for it in block["exports"] if it["service"]),
        stream_imports=tuple(stream_import(it) for it in block["imports"] if it["stream"]),
        service_imports=tuple(service_import(it) for it in block["imports"] if it["service"]),
        limits=AccountLimits(**(block["limits"] or {})),
        default_permissions=permissions_from(block["default_permissions"]),
        trace_destination=trace["dest"] if trace else "",
        trace_sampling_percent=trace["sampling"] if trace else 100,
        jetstream=jetstream_limits(block["jetstream"]),
    )


def _mappings(blocks: Sequence[Block]) -> tuple[SubjectMapping, ...]:
    return tuple(
        SubjectMapping(
            source=block["source"],
            destinations=tuple(
                MappedDestination(
                    subject=it["destination"], weight=it["weight"], cluster=it["cluster"]
                )
                for it in block["destinations"]
            ),
        )
        for block in blocks
    )


def _stream_export(block: Block) -> StreamExport:
    return StreamExport(
        subject=block["stream"],
        accounts=block["accounts"] or None,
        account_token_position=block["account_token_position"],
    )


def _service_export(block: Block) -> ServiceExport:
    latency = block["latency"]
    return ServiceExport(
        subject=block["service"],
        accounts=block["accounts"] or None,
        account_token_position=block["account_token_position"],
        response=_RESPONSES[block["response"] or "singleton"],
        threshold_s=block["response_threshold"],
        latency=latency
        and LatencySampling(subject=latency["subject"], percent=latency["sampling"]),
        allow_trace=block["allow_trace"],
    )


def stream_import(block: Block) -> StreamImport:
    """Return the import of a stream; nats-server takes a prefix with its last point or without."""
    source, prefix = block["stream"], block["prefix"]
    to = block["to"] or source["subject"]
    if prefix:
        to = f"{prefix.removesuffix('.')}.{source['subject']}"
    return StreamImport(
        account=source["account"],
        subject=source["subject"],
        to=to,
        allow_trace=block["allow_trace"],
    )


def service_import(block: Block) -> ServiceImport:
    """Return the import of a service."""
    source = block["service"]
    return ServiceImport(
        account=source["account"],
        subject=source["subject"],
        to=block["to"] or source["subject"],
        share=block["share"],
    )
