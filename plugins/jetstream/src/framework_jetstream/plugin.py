"""Hook implementations of the JetStream plugin."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from framework.actors import Reply, Supervision
from framework.hookspecs import hookimpl
from framework.spec import (
    ComponentSpec,
    MonitorEndpoint,
    MonitorFields,
    PortSpec,
    ServiceRequest,
    ServiceSpec,
)
from framework_jetstream.config import JetStreamConfig, jetstream_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.spec import CommandGroup, Port, ServerContext
    from framework.topology import ConfigSection
    from framework_jetstream.engine.link import EngineLink
    from framework_jetstream.jet_stream import JetStream

API: Final = "$JS.API."
_PORT_BYTES_MAX: Final = 64 * 1024 * 1024
_links: WeakKeyDictionary[ServerContext, EngineLink] = WeakKeyDictionary()


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the block `jetstream`."""
    return [jetstream_section()]


@hookimpl
def framework_add_commands(cli: CommandGroup) -> None:
    """Add `verify` and `dump`."""
    from framework_jetstream.store_commands import add_store_commands  # noqa: PLC0415 - no server

    add_store_commands(cli)


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the actor that has the streams, if the server is to have some."""
    if server.config.section_as(JetStreamConfig) is None:
        return []
    server.accounts.offer_jetstream()
    return [ComponentSpec(name="jetstream", factory=_component, supervision=Supervision())]


def _component(server: ServerContext) -> tuple[type[JetStream], Mapping[str, Any]]:
    from framework_jetstream.engine.link import EngineLink  # noqa: PLC0415 - for who has streams
    from framework_jetstream.jet_stream import JetStream  # noqa: PLC0415 - the same

    link = _links[server] = EngineLink()
    return JetStream, {
        "link": link,
        "server": server.name,
        "account_number": server.account_number,
    }


@hookimpl
def framework_ports(server: ServerContext) -> Iterable[PortSpec]:
    """Open the engine's port, and start its thread."""
    link = _links.get(server)
    if link is None:
        return []

    def start(port: Port) -> None:
        link.start(port)

    return [
        PortSpec(
            name="jetstream",
            start=start,
            stop=link.join,
            bytes_max=_PORT_BYTES_MAX,
            said_bytes_max=_PORT_BYTES_MAX,
        )
    ]


@hookimpl
def framework_services(server: ServerContext) -> Iterable[ServiceSpec]:
    """Answer the API, which accounts import from the system account."""
    if server not in _links:
        return []
    return [
        ServiceSpec(name="jetstream-api", subject=f"{API}>", answer=partial(_answer, server)),
    ]


async def _answer(server: ServerContext, request: ServiceRequest) -> bytes | None:
    """Answer one request of an account."""
    from framework_jetstream.jet_stream import JetStream  # noqa: PLC0415 - for who has streams

    infos = request.headers.get("Nats-Request-Info", ())
    if not infos:
        return None
    reply = Reply[bytes | None]()
    tokens = tuple(request.subject.removeprefix(API).split("."))
    server.component("jetstream").tell(
        JetStream.ApiRequest(
            account=json.loads(infos[0])["acc"],
            tokens=tokens,
            payload=request.payload,
            headers=request.headers,
            reply=reply,
        )
    )
    return await reply


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/jsz` and `JSZ`."""
    if server not in _links:
        return []
    from framework_jetstream.monitor import answer_jsz  # noqa: PLC0415 - for who has streams

    answer = partial(answer_jsz, server)
    return [MonitorEndpoint(path="/jsz", answer=answer, help="JetStream", request="JSZ")]


@hookimpl
def framework_monitor_fields(server: ServerContext) -> Iterable[MonitorFields]:
    """Fill `jetstream` in `/varz`."""
    if server not in _links:
        return []
    from framework_jetstream.monitor import varz_fields  # noqa: PLC0415 - for who has streams

    make = partial(varz_fields, server)
    return [MonitorFields(document="/varz", names=("jetstream",), make=make)]


@hookimpl
def framework_server_info(server: ServerContext) -> Mapping[str, object]:
    """Tell clients that there are streams."""
    return {"jetstream": True} if server in _links else {}
