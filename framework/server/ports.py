"""Ports of plugins: opened before anybody can connect, closed before the plane ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from framework.server.stopping import call_in_thread
from framework.spec.ports import PortRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.server.stopping import StopSteps
    from framework.spec import PlaneControl, Port, PortSpec


class Ports:
    """The ports that plugins have declared.

    Args:
        plane: Opens them.
        blame: Names the plugin of one that fails.
    """

    def __init__(
        self, plane: PlaneControl, *, blame: Callable[[str, BaseException], BaseException]
    ) -> None:
        self._plane = plane
        self._blame = blame
        self._ports: list[tuple[PortSpec, Port]] = []

    def open(self, specs: Sequence[PortSpec], steps: StopSteps) -> None:
        """Open ports, and let their plugins start to use them; `steps` learns how to close each.

        Raises:
            PluginError: One can't.
        """
        for spec in specs:
            port = self._plane.open_port(
                bytes_max=spec.bytes_max,
                overflow=spec.overflow,
                said_bytes_max=spec.said_bytes_max,
            )
            try:
                spec.start(port)
            except Exception as error:
                port.close()
                raise self._blame(spec.name, error) from error
            self._ports.append((spec, port))
            steps.push(f"port {spec.name}", partial(self._close, spec, port))

    def rows(self) -> Sequence[PortRow]:
        """Return how each does."""
        return [PortRow(spec, port.dropped) for spec, port in self._ports]

    async def _close(self, spec: PortSpec, port: Port) -> None:
        port.close()
        await call_in_thread(spec.stop)
