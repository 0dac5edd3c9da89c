"""Ports of plugins: opened before anybody can connect, closed before the plane ends.

Those that decide at gates are closed behind it: until the last client is gone they are needed.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from framework.server.limits import PORT_LEAVE_S, PORT_READY_S, STOP_DEADLINE_S
from framework.server.stopping import call_in_thread
from framework.spec.ports import PortRow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.server.stopping import StopSteps
    from framework.spec import PlaneControl, Port, PortSpec


async def _done(ready: Awaitable[None]) -> None:
    await ready


class Ports:
    """The ports that plugins have declared.

    Args:
        plane: Opens them.
        blame: Names the plugin of one that fails.
        is_needed: Whether a port, by its name, decides at a gate.
        confirm: Returns when the plane has turned once more.
        log: The server's logger.
    """

    def __init__(
        self,
        plane: PlaneControl,
        *,
        blame: Callable[[str, BaseException], BaseException],
        is_needed: Callable[[str], bool],
        confirm: Callable[[], Awaitable[None]],
        log: FilteringBoundLogger,
    ) -> None:
        self._plane = plane
        self._blame = blame
        self._is_needed = is_needed
        self._confirm = confirm
        self._log = log
        self._ports: dict[str, tuple[PortSpec, Port]] = {}

    async def open(self, specs: Sequence[PortSpec], steps: StopSteps) -> None:
        """Open ports, and let their plugins start to use them; `steps` learns how to close each.

        Raises:
            PluginError: One can't.
        """
        for spec, ready in self._start(specs, steps):
            if ready is None:
                continue
            try:
                await asyncio.wait_for(_done(ready), PORT_READY_S)
            except TimeoutError:
                self._log.error("{component} is not ready yet", component=f"port {spec.name}")
            except Exception as error:
                raise self._blame(spec.name, error) from error

    def _start(
        self, specs: Sequence[PortSpec], steps: StopSteps
    ) -> list[tuple[PortSpec, Awaitable[None] | None]]:
        """Open all, and return what is to be waited for."""
        started = []
        for spec in specs:
            port = self._plane.open_port(
                bytes_max=spec.bytes_max,
                overflow=spec.overflow,
                said_bytes_max=spec.said_bytes_max,
            )
            try:
                started.append((spec, spec.start(port)))
            except Exception as error:
                port.close()
                raise self._blame(spec.name, error) from error
            self._ports[spec.name] = spec, port
            steps.push(f"port {spec.name}", partial(self._close_early, spec))
        return started

    def __getitem__(self, name: str) -> Port:
        """Return a port that is open, by its name; KeyError: there is none."""
        return self._ports[name][1]

    def owner_of(self, name: str) -> str | None:
        """Return the plugin of a port that is open; None: there is none of this name."""
        return self._ports[name][0].plugin if name in self._ports else None

    def rows(self) -> Sequence[PortRow]:
        """Return how each does."""
        return [PortRow(spec, port.dropped) for spec, port in self._ports.values()]

    async def close_rest(self) -> None:
        """Close those that were needed until now, all at once."""
        specs = [spec for spec, _ in self._ports.values()]
        stopped = [asyncio.ensure_future(self._close(spec)) for spec in specs]
        if stopped:
            await asyncio.wait(stopped, timeout=STOP_DEADLINE_S * 0.9)
        for spec, task in zip(specs, stopped, strict=True):
            if not task.done():
                self._log.error("{component} did not stop in time", component=f"port {spec.name}")
                task.cancel()
            elif error := task.exception():
                self._log.error(
                    "Stopping {component} failed", component=f"port {spec.name}", error=repr(error)
                )

    async def _close_early(self, spec: PortSpec) -> None:
        if not self._is_needed(spec.name):
            await self._close(spec)

    async def _close(self, spec: PortSpec) -> None:
        _, port = self._ports.pop(spec.name)
        if spec.leave is not None:
            await self._leave(spec.leave, spec.name, port)
        port.close()
        await call_in_thread(spec.stop)

    async def _leave(self, leave: Callable[[], Awaitable[None]], name: str, port: Port) -> None:
        """Let a port say its last, and return when the plane has published it."""
        try:
            async with asyncio.timeout(PORT_LEAVE_S):
                await leave()
                while port.said_bytes:
                    await self._confirm()
        except TimeoutError:
            self._log.error("{component} has more to say than time", component=f"port {name}")
        except Exception as error:  # noqa: BLE001 - it is closed all the same
            self._log.error(
                "Stopping {component} failed", component=f"port {name}", error=repr(error)
            )
