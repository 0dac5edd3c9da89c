"""What the plugin hands to the server: it does nothing unless there is a block `audit`."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framework import hookimpl
from framework.spec import ComponentSpec, MonitorEndpoint, TapSpec
from framework.topology import ConfigSection, Kind, Option
from framework.wire import is_valid_subject
from framework_audit.audit import Audit
from framework_audit.tail import add_tail

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.spec import Batch, ClosedState, CommandGroup, ConnectionInfo, ServerContext


# -- configuration and command line


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    file = Option(
        name="file",
        kind=Kind.STRING,
        default="audit.jsonl",
        help="Gets one line of JSON for each client that comes or goes",
    )
    subject = Option(
        name="subject",
        kind=Kind.STRING,
        default=">",
        help="Messages on it are counted; it may have wildcards",
        check=lambda value: None if is_valid_subject(str(value)) else "is no subject",
    )
    yield ConfigSection(
        name="audit", help="Who came, and how much was said", options=(file, subject)
    )


@hookimpl
def framework_add_commands(cli: CommandGroup) -> None:
    add_tail(cli)


# -- what runs in the server


@hookimpl
def framework_components(server: ServerContext) -> Iterator[ComponentSpec]:
    if section := server.config.section("audit"):
        collaborators: dict[str, Any] = {
            "path": Path(str(section["file"])),
            "now": partial(datetime.now, UTC),
            "complain": server.log.error,
        }
        yield ComponentSpec(name="audit", factory=lambda _: (Audit, collaborators))


@hookimpl
def framework_taps(server: ServerContext) -> Iterator[TapSpec]:
    if section := server.config.section("audit"):

        def receive(batch: Batch) -> None:
            server.component("audit").tell(Audit.Counted(len(batch)))

        yield TapSpec(name="audit", subject=str(section["subject"]), receive=receive)


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterator[MonitorEndpoint]:
    if server.config.section("audit"):

        async def answer(_query: Mapping[str, str]) -> object:
            return await server.component("audit").ask(Audit.Summarize(), block=False)

        yield MonitorEndpoint(path="/auditz", answer=answer, help="Clients and messages")


# -- what it hears


@hookimpl
def framework_connection_opened(server: ServerContext, connection: ConnectionInfo) -> None:
    if server.config.section("audit"):
        server.component("audit").tell(Audit.Noticed("opened", connection))


@hookimpl
def framework_connection_closed(
    server: ServerContext, connection: ConnectionInfo, reason: ClosedState
) -> None:
    if server.config.section("audit"):
        server.component("audit").tell(Audit.Noticed("closed", connection, reason.text))
