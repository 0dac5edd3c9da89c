"""State machine of a server process: launch, ready, drain, stop, kill, restart, give up.

Holds no process and no clock: it is told what happened and when, and answers with effects.

    STARTING ──ready──▶ READY ──exit──▶ WAITING ──back-off──▶ STARTING
        │                 │                │
        │ exit            │ drain          │ stop
        ▼                 ▼                ▼
    WAITING, FAILED    DRAINING ─exit──▶ STOPPED
                          │                ▲
                          │ stop           │
                          ▼                │
                       STOPPING ──exit─────┘

A server that drains stays down when it ends, whoever told it to drain: its clients were sent away.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

EXIT_REFUSED = 1
"""Exit status of a server that says why it will not start, as nats-server's; retrying is vain."""


class Phase(Enum):
    """State of a server; the value is what the status shows."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    """In lame duck mode; its clients go elsewhere, then it ends by itself."""
    WAITING = "waiting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether nothing will follow."""
        return self in {Phase.STOPPED, Phase.FAILED}

    @property
    def has_process(self) -> bool:
        """Whether a process belongs to this phase."""
        return self in {Phase.STARTING, Phase.READY, Phase.DRAINING, Phase.STOPPING}


class RestartPolicy(Struct, frozen=True, kw_only=True):
    """How often, and after which delays, a server is restarted.

    The first restart after a long healthy run is nearly immediate, since a crash is rarely the
    server's last word; then each wait doubles, so that a crash loop costs next to nothing.
    """

    delay_first_s: float = 0.25
    delay_max_s: float = 30.0
    healthy_s: float = 10.0
    """A run that was ready for so long forgives all failures before it."""
    failures_max: int = 10
    """Failures in a row, none after a healthy run, before the server is given up."""
    first_failures_max: int = 3
    """The same for a server that was never ready: then it is not its luck that is bad."""
    start_deadline_s: float = 30.0
    """From launch to ready; then the process is killed, which counts as a failure."""
    stop_deadline_s: float = 10.0
    """From SIGTERM to SIGKILL."""

    def __post_init__(self) -> None:
        assert 0 < self.delay_first_s <= self.delay_max_s
        assert 0 <= self.first_failures_max <= self.failures_max

    def of(self, start_deadline_s: float | None) -> RestartPolicy:
        """Return the policy of a process whose start may take so long; None: as it is."""
        if start_deadline_s is None:
            return self
        return replace(self, start_deadline_s=start_deadline_s)

    def delay_s(self, failures: int) -> float:
        """Return the wait before the restart that follows `failures` failures in a row; >= 1."""
        assert failures >= 1
        return min(self.delay_first_s * 2.0 ** min(failures - 1, 30), self.delay_max_s)


class Launch(Struct, frozen=True):
    """Start a process."""


class Drain(Struct, frozen=True):
    """Let the process enter lame duck mode: SIGUSR2."""


class Terminate(Struct, frozen=True):
    """Ask the process to stop: SIGTERM."""


class Kill(Struct, frozen=True):
    """End the process: SIGKILL."""


class Arm(Struct, frozen=True):
    """Tell the machine `receive_timer(timer)` after `delay_s`; an older timer no longer matters."""

    delay_s: float
    timer: int


Effect: TypeAlias = Launch | Drain | Terminate | Kill | Arm


class ServerMachine:
    """Decide launch, restart and stop of one server process.

    Args:
        policy: Waits and limits.
    """

    def __init__(self, policy: RestartPolicy) -> None:
        self._policy = policy
        self._timer = 0
        self._ready_ns: int | None = None
        self._was_ever_ready = False
        self.phase = Phase.STOPPED
        self.failures = 0
        """Failures in a row."""
        self.wait_s = 0.0
        """The last back-off."""
        self.launches = 0

    @property
    def restarts(self) -> int:
        """How often it was launched again."""
        return max(0, self.launches - 1)

    @property
    def was_ever_ready(self) -> bool:
        """Whether any launch came so far as to be ready."""
        return self._was_ever_ready

    def start(self) -> list[Effect]:
        """Launch it, for the first time or after it has stopped or failed; else do nothing."""
        if not self.phase.is_final:
            return []
        self.failures = 0
        return self._launch()

    def receive_ready(self, now_ns: int) -> list[Effect]:
        """Take note that the server accepts connections; more than once is harmless."""
        if self.phase is not Phase.STARTING:
            return []
        self._enter(Phase.READY)
        self._ready_ns = now_ns
        self._was_ever_ready = True
        return []

    def receive_lame_duck(self) -> list[Effect]:
        """Take note that the server is in lame duck mode, whoever told it; harmless twice."""
        if self.phase in {Phase.STARTING, Phase.READY}:
            self._enter(Phase.DRAINING)
        return []

    def receive_exit(self, status: int, now_ns: int) -> list[Effect]:
        """Take note that the process is gone.

        Args:
            status: Exit status, or minus the signal that ended it.
            now_ns: Monotonic time.
        """
        assert self.phase.has_process
        if self.phase in {Phase.STOPPING, Phase.DRAINING}:
            self._enter(Phase.STOPPED)
            return []
        if self._ready_ns is not None and now_ns - self._ready_ns >= self._policy.healthy_s * 1e9:
            self.failures = 0
        self.failures += 1
        if self._is_hopeless(status):
            self._enter(Phase.FAILED)
            return []
        self._enter(Phase.WAITING)
        self.wait_s = self._policy.delay_s(self.failures)
        return [Arm(self.wait_s, self._timer)]

    def receive_timer(self, timer: int) -> list[Effect]:
        """Act on a wait or deadline that has passed; `timer` is the one of its `Arm`."""
        if timer != self._timer:
            return []
        match self.phase:
            case Phase.WAITING:
                return self._launch()
            case Phase.STARTING | Phase.STOPPING:
                return [Kill()]
            case _:
                return []

    def drain(self) -> list[Effect]:
        """Let its clients go elsewhere and let it end; one without clients is stopped."""
        if self.phase is not Phase.READY:
            return [] if self.phase is Phase.DRAINING else self.stop()
        self._enter(Phase.DRAINING)
        return [Drain()]

    def stop(self) -> list[Effect]:
        """End it kindly, and not so kindly after the deadline; does nothing twice."""
        match self.phase:
            case Phase.STARTING | Phase.READY | Phase.DRAINING:
                self._enter(Phase.STOPPING)
                return [Terminate(), Arm(self._policy.stop_deadline_s, self._timer)]
            case Phase.WAITING:
                self._enter(Phase.STOPPED)
        return []

    def kill(self) -> list[Effect]:
        """End it at once."""
        if not self.phase.has_process:
            return self.stop()
        self._enter(Phase.STOPPING)
        return [Kill()]

    def _is_hopeless(self, status: int) -> bool:
        if self._was_ever_ready:
            return self.failures > self._policy.failures_max
        return status == EXIT_REFUSED or self.failures > self._policy.first_failures_max

    def _launch(self) -> list[Effect]:
        self._enter(Phase.STARTING)
        self.launches += 1
        self._ready_ns = None
        return [Launch(), Arm(self._policy.start_deadline_s, self._timer)]

    def _enter(self, phase: Phase) -> None:
        # Each phase has at most one timer; a new number makes the one of the old phase void.
        self.phase = phase
        self._timer += 1
