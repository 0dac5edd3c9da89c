"""Hook implementations: the block `lines`, and its port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.hookspecs import hookimpl
from framework.spec import ChannelStage, TransportSpec
from framework.topology import ConfigSection, Kind, Option
from framework_lines.channel import Lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from framework.spec import ServerContext


class LinesConfig(Struct, frozen=True):
    """The block."""

    host: str
    port: int


_OPTIONS = (
    Option(name="listen", kind=Kind.LISTEN, help="host:port for clients that speak lines"),
    Option(name="host", kind=Kind.STRING, default="127.0.0.1", help="Its host"),
    Option(name="port", kind=Kind.PORT, help="Its port; without one there is none"),
)


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the block."""
    yield ConfigSection(
        name="lines",
        help="Clients that speak lines of text",
        options=_OPTIONS,
        record=LinesConfig,
        make=lambda value: (
            None if value["port"] is None else LinesConfig(value["host"], value["port"])
        ),
    )


@hookimpl
def framework_transports(server: ServerContext) -> Iterable[TransportSpec]:
    """Open the port."""
    config = server.config.section_as(LinesConfig)
    if config:
        stages = (ChannelStage(Lines),)
        yield TransportSpec(name="lines", host=config.host, port=config.port, stages=stages)
