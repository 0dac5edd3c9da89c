"""Gates of plugins: each has a thread that takes batches from the plane, and answers them.

That of a gate with a port is the plugin's own.
"""

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
    from framework.spec import GateSpec, Port


class _Gate(Struct):
    spec: GateSpec
    queue: GateQueue
    account: int
    thread: Thread | None = None
    silent_until_s: float = 0.0
    """Of the loop's clock; what it does wrong until then is only counted."""
    untold: int = 0
    """Messages of which the log has not been told."""


def _place(spec: GateSpec, account: int) -> tuple[object, ...]:
    """Return what of a gate can't change while it stands."""
    return account, spec.subject, spec.order, spec.port, spec.tag


class Gates:
    """Put up the gates of plugins, and say in the log what they do wrong.

    A gate decides in a thread of its own: one that takes long, or never comes back, holds up its
    own messages alone, until their time is over.

    Args:
        plane: Where messages wait.
        port_of: Returns an open port of a plugin, by its name.
        blame: Returns what to raise for an error in a gate, by its name.
        log: The server's logger.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        port_of: Callable[[str], Port],
        blame: Callable[[str, BaseException], BaseException],
        log: FilteringBoundLogger,
    ) -> None:
        self._plane = plane
        self._port_of = port_of
        self._blame = blame
        self._log = log
        self._gates: dict[int, _Gate] = {}
        """By number: those that stand, and those at which something waits still."""
        self._standing: dict[str, _Gate] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def follow(self, wanted: Sequence[tuple[GateSpec, int]]) -> None:
        """Have these gates stand, each in an account, and no others.

        What waits at a gate that goes, or has to make way for one of its name, is decided on as
        before. Whatever stood before and after, nothing passes undecided in between.
        """
        self._loop = asyncio.get_running_loop()
        self._forget_closed()
        for spec, account in wanted:
            self._put_up(spec, account)
        names = {spec.name for spec, _ in wanted}
        for name in self._standing.keys() - names:
            self._plane.remove_gate(self._standing.pop(name).queue.id)

    def _put_up(self, spec: GateSpec, account: int) -> None:
        before = self._standing.get(spec.name)
        if before is not None and _place(before.spec, before.account) == _place(spec, account):
            before.spec = spec
            self._plane.change_gate(
                before.queue.id,
                is_open=spec.is_open,
                bytes_max=spec.bytes_max,
                limit_s=spec.time_limit_s,
            )
            return
        queue = self._plane.add_gate(
            account,
            spec.subject.encode(),
            order=spec.order,
            is_open=spec.is_open,
            bytes_max=spec.bytes_max,
            limit_s=spec.time_limit_s,
            port=self._port_of(spec.port) if spec.port else None,
            tag=spec.tag,
            replaces=before.queue.id if before is not None else 0,
        )
        gate = _Gate(spec, queue, account)
        self._gates[queue.id] = self._standing[spec.name] = gate
        if spec.decide is not None:
            name = f"gate-{spec.name}"
            gate.thread = Thread(target=self._run, args=(gate,), name=name, daemon=True)
            gate.thread.start()

    def _forget_closed(self) -> None:
        """Forget gates that have gone, with all that waited there."""
        gone = [number for number, gate in self._gates.items() if gate.queue.is_closed]
        for number in gone:
            del self._gates[number]

    def needs_port(self, name: str) -> bool:
        """Return whether the thread of a port decides at a gate."""
        return any(gate.spec.port == name for gate in self._gates.values())

    async def stop(self) -> None:
        """End the threads, after the plane: until then nothing passes undecided."""
        self._loop = None
        for gate in self._gates.values():
            gate.queue.close()
        for gate in self._gates.values():
            if gate.thread is None:
                continue
            await asyncio.to_thread(gate.thread.join, STOP_DEADLINE_S / 2)
            if gate.thread.is_alive():
                self._log.warning("Gate {component} does not come back", component=gate.spec.name)

    def rows(self) -> Sequence[GateRow]:
        """Return how all gates do that stand."""
        return [GateRow(gate.spec, gate.queue.counters()) for gate in self._standing.values()]

    def receive(self, event: GateFailed) -> None:
        """Say what a gate did wrong, seldom when it goes on."""
        gate = self._gates.get(event.gate)
        if gate is None:
            return
        gate.untold += event.count
        now_s = asyncio.get_running_loop().time()
        if now_s < gate.silent_until_s:
            return
        gate.silent_until_s = now_s + GATE_REPORT_INTERVAL_S
        self._log.error(
            "Gate {component} of plugin {plugin} {detail}: what has no verdict {policy}",
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
            decide = gate.spec.decide
            assert decide is not None
            return encoded_verdicts(batch, decide(batch))
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
