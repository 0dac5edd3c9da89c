"""What the plugin hands to the server: it does nothing unless there is a block `audit`."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from framework import hookimpl
from framework.spec import ComponentSpec, MonitorEndpoint, TapKind, TapSpec
from framework.topology import Setting, section_of
from framework.wire import is_valid_subject
from framework_audit.audit import Audit
from framework_audit.tail import add_tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import (
        Batch,
        ClosedState,
        CommandGroup,
        ConnectionInfo,
        NoOptions,
        ServerContext,
    )
    from framework.topology import ConfigSection


# -- configuration and command line


class AuditConfig(Struct, frozen=True):
    file: Annotated[
        str, Setting(help="Gets one line of JSON for each client that comes or goes")
    ] = "audit.jsonl"
    subject: Annotated[
        str,
        Setting(
            help="Messages on it are counted; it may have wildcards",
            check=lambda value: None if is_valid_subject(value) else "is no subject",
        ),
    ] = ">"


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(AuditConfig, name="audit", help="Who came, and how much was said")


@hookimpl
def framework_add_commands(cli: CommandGroup) -> None:
    add_tail(cli)


# -- what runs in the server


@hookimpl
def framework_components(server: ServerContext) -> Iterator[ComponentSpec]:
    if config := server.config.section_as(AuditConfig):
        collaborators: dict[str, Any] = {
            "path": Path(config.file),
            "now": partial(datetime.now, UTC),
            "complain": server.log.error,
        }
        yield ComponentSpec(name="audit", factory=lambda _: (Audit, collaborators))


@hookimpl
def framework_taps(server: ServerContext) -> Iterator[TapSpec]:
    if config := server.config.section_as(AuditConfig):

        def receive(batch: Batch) -> None:
            server.component("audit").tell(Audit.Counted(len(batch)))

        yield TapSpec(name="audit", subject=config.subject, receive=receive, kind=TapKind.INGRESS)


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterator[MonitorEndpoint]:
    if server.config.section_as(AuditConfig):

        async def answer(_options: NoOptions) -> object:
            return await server.component("audit").ask(Audit.Summarize(), block=False)

        yield MonitorEndpoint(path="/auditz", answer=answer, help="Clients and messages")


# -- what it hears


@hookimpl
def framework_connection_opened(server: ServerContext, connection: ConnectionInfo) -> None:
    if server.config.section_as(AuditConfig):
        server.component("audit").tell(Audit.Noticed("opened", connection))


@hookimpl
def framework_connection_closed(
    server: ServerContext, connection: ConnectionInfo, reason: ClosedState
) -> None:
    if server.config.section_as(AuditConfig):
        server.component("audit").tell(Audit.Noticed("closed", connection, reason.text))
