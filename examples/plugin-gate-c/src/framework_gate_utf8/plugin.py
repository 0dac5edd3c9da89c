"""Hands a port to the thread in C, and says where that decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from framework import hookimpl
from framework.spec import GateSpec, PortSpec
from framework.topology import Reload, Setting, section_of
from framework.wire import is_valid_subject
from framework_gate_utf8 import _utf8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import Port, ServerContext
    from framework.topology import ConfigSection

LIVE = Reload.LIVE


class Utf8Config(Struct, frozen=True):
    subject: Annotated[
        str,
        Setting(
            help="Messages on it must be UTF-8; it may have wildcards",
            check=lambda value: None if is_valid_subject(value) else "is no subject",
            reload=LIVE,
        ),
    ] = ">"


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(
        Utf8Config, name="utf8", help="Refuse messages that are not UTF-8", reload=LIVE
    )


@hookimpl
def framework_ports() -> Iterator[PortSpec]:
    def start(port: Port) -> None:
        _utf8.start(port.capsule())

    yield PortSpec(name="utf8", start=start, stop=_utf8.join)


@hookimpl
def framework_gates(server: ServerContext) -> Iterator[GateSpec]:
    if config := server.config.section_as(Utf8Config):
        yield GateSpec(name="utf8", subject=config.subject, port="utf8")
