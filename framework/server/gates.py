"""Gates of plugins: each has a thread that takes batches from the plane, and answers them."""

from __future__ import annotations

import asyncio
from threading import Thread
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.dataplane.verdict import encoded_verdicts
from framework.server.limits import GATE_REPORT_INTERVAL_S, GATE_TAKE_S, STOP_DEADLINE_S
from framework.spec.gate import GateRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from structlog.typing import FilteringBoundLogger

    from framework.dataplane import Batch, GateFailed, GateQueue
    from framework.server.plane_port import ServerPlane
    from framework.spec import GateSpec


class _Gate(Struct):
    spec: GateSpec
    queue: GateQueue
    thread: Thread | None = None
    silent_until_s: float = 0.0
    """Of the loop's clock; what it does wrong until then is only counted."""
    untold: int = 0
    """Messages of which the log has not been told."""


class Gates:
    """Put up the gates of plugins, and say in the log what they do wrong.

    A gate decides in a thread of its own: one that takes long, or never comes back, holds up its
    own messages alone, until their time is over.

    Args:
        plane: Where messages wait.
        blame: Returns what to raise for an error in a gate, by its name.
        log: The server's logger.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        blame: Callable[[str, BaseException], BaseException],
        log: FilteringBoundLogger,
    ) -> None:
        self._plane = plane
        self._blame = blame
        self._log = log
        self._gates: dict[int, _Gate] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, spec: GateSpec, *, account: int) -> None:
        """Put up a gate in an account."""
        self._loop = asyncio.get_running_loop()
        queue = self._plane.add_gate(
            account,
            spec.subject.encode(),
            order=spec.order,
            is_open=spec.is_open,
            bytes_max=spec.bytes_max,
            limit_s=spec.time_limit_s,
        )
        gate = self._gates[queue.id] = _Gate(spec, queue)
        gate.thread = Thread(target=self._run, args=(gate,), name=f"gate-{spec.name}", daemon=True)
        gate.thread.start()

    async def stop(self) -> None:
        """End the threads, after the plane: until then nothing passes undecided."""
        self._loop = None
        for gate in self._gates.values():
            gate.queue.close()
        for gate in self._gates.values():
            assert gate.thread is not None
            await asyncio.to_thread(gate.thread.join, STOP_DEADLINE_S / 2)
            if gate.thread.is_alive():
                self._log.warning("Gate {component} does not come back", component=gate.spec.name)

    def rows(self) -> Sequence[GateRow]:
        """Return how all gates do."""
        return [GateRow(gate.spec, gate.queue.counters()) for gate in self._gates.values()]

    def receive(self, event: GateFailed) -> None:
        """Say what a gate did wrong, seldom when it goes on."""
        gate = self._gates[event.gate]
        gate.untold += event.count
        now_s = asyncio.get_running_loop().time()
        if now_s < gate.silent_until_s:
            return
        gate.silent_until_s = now_s + GATE_REPORT_INTERVAL_S
        self._log.error(
            "Gate {component} {detail}: what has no verdict {policy}",
            component=gate.spec.name,
            plugin=gate.spec.plugin,
            detail=event.problem,
            policy="passes" if gate.spec.is_open else "is refused",
            count=gate.untold,
        )
        gate.untold = 0

    # ---- in the thread of a gate

    def _run(self, gate: _Gate) -> None:
        while not gate.queue.is_closed:
            taken = gate.queue.take(GATE_TAKE_S)
            if taken is None:
                continue
            number, batch = taken
            self._plane.answer_gate(gate.queue.id, number, self._answer(gate, batch))
            del batch, taken  # their memory is not held while there is nothing to decide

    def _answer(self, gate: _Gate, batch: Batch) -> bytes | None:
        try:
            return encoded_verdicts(batch, gate.spec.decide(batch))
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises, it is the plugin's
            blamed, loop = self._blame(gate.spec.name, error), self._loop
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(self._tell, gate, blamed)
            return None

    def _tell(self, gate: _Gate, error: BaseException) -> None:
        """Log what was raised, as seldom as what follows from it."""
        if asyncio.get_running_loop().time() >= gate.silent_until_s:
            self._log.error(
                "Plugin {plugin} failed in {hook} ({path}): {error}",
                plugin=gate.spec.plugin,
                hook=f"gate {gate.spec.name}",
                path=getattr(error, "origin", ""),
                error=getattr(error, "problem", repr(error)),
            )
