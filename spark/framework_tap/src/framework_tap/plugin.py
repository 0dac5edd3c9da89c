"""Hook implementations of the tap plugin: nothing is tapped unless a rule says so."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from framework.hookspecs import hookimpl
from framework.spec import ComponentSpec, LinkKind, MonitorEndpoint, StatusColumn, StatusSection
from framework_tap.config import TapConfig, tap_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from framework.spec import ConnectionInfo, NoOptions, ServerContext, TapSpec
    from framework.topology import ConfigSection
    from framework_tap.tap_manager import TapManager
    from framework_tap.taps import Taps

NAME: Final = "tap"
_taps: WeakKeyDictionary[ServerContext, Taps] = WeakKeyDictionary()


@hookimpl
def framework_config_sections() -> Iterable[ConfigSection]:
    """Declare the block `tap`."""
    return [tap_section()]


@hookimpl
def framework_components(server: ServerContext) -> Iterable[ComponentSpec]:
    """Bring the actor that records, where there is a block; a reload may bring rules."""
    if server.config.section_as(TapConfig) is None:
        return []
    return [ComponentSpec(name=NAME, factory=_component)]


def _component(server: ServerContext) -> tuple[type[TapManager], Mapping[str, Any]]:
    from framework_tap.tap_manager import TapManager  # noqa: PLC0415 - for who has taps
    from framework_tap.taps import Taps  # noqa: PLC0415 - as above

    taps = _taps[server] = Taps(server, unix_ns=time.time_ns, folder=Path.cwd())
    return TapManager, {"recorder": taps.recorder_arguments}


@hookimpl
def framework_taps(server: ServerContext) -> Iterable[TapSpec]:
    """Tap what the rules say."""
    if server not in _taps:
        return []
    from framework_tap.tap_manager import TapManager  # noqa: PLC0415 - for who has taps

    config = server.config.section_as(TapConfig)
    specs, plans = _taps[server].follow(config.rules if config else {})
    server.component(NAME).tell(TapManager.Follow(plans))
    return specs


@hookimpl
def framework_monitor_endpoints(server: ServerContext) -> Iterable[MonitorEndpoint]:
    """Answer `/tapz`, and tell `framework run` of it."""
    if server not in _taps:
        return []

    async def answer(_options: NoOptions) -> object:
        return _taps[server].document()

    return [MonitorEndpoint(path="/tapz", answer=answer, help="Taps", request="TAPZ", status=NAME)]


@hookimpl
def framework_status_sections() -> Iterable[StatusSection]:
    """Show how many rows each server has recorded."""
    from framework_tap.status import tapped  # noqa: PLC0415 - no server needs it

    column = StatusColumn(title="tapped", cell=lambda rows: rows, priority=45)
    return [StatusSection(field=NAME, read=tapped, columns=(column,))]


@hookimpl
def framework_connection_opened(server: ServerContext, connection: ConnectionInfo) -> None:
    """Remember who is at the end of a link."""
    if server in _taps and connection.kind in {LinkKind.CLIENT, LinkKind.LEAF}:
        _taps[server].clients.opened(connection)


@hookimpl
def framework_connection_closed(server: ServerContext, connection: ConnectionInfo) -> None:
    """Forget who was there, after a while."""
    if server in _taps:
        _taps[server].clients.closed(connection)
