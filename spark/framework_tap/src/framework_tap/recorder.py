"""The actor that records what one rule finds in one account."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework_tap.frames import EMPTY, Frame
from framework_tap.limits import FRAME_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Timer
    from framework.spec import Batch
    from framework.spec.logger import FilteringBoundLogger
    from framework_tap.frames import FrameMaker
    from framework_tap.processors import Processors
    from framework_tap.rule_plan import RulePlan

LOOK_S: Final = 0.25
"""After a frame it is looked whether more was dropped; and no sink is looked after more often."""
TOLD_S: Final = 60.0
"""Between two log lines about what is dropped for one reason."""
STOP_WAIT_S: Final = 1.0
REST: Final = 19
"""Where processors are short a recorder rests so many times as long as a frame took: others have
nineteen twentieths of one. What comes meanwhile waits, or is dropped and counted."""
REST_S_MAX: Final = 0.25
_SECOND_NS: Final = 1_000_000_000


class Sink(Protocol):
    """Where frames go. All but `write` happens in the recorder's turn."""

    is_written_idle: bool
    """Whether it is to `write` when it is looked after, though there is no frame."""
    problem: str
    """Why rows are not stored; empty: they are."""
    rows: int
    """Stored so far."""
    lost: int
    """Rows that were recorded and not stored."""

    @property
    def place(self) -> str:
        """Return where rows go, for people."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether one more frame may be made."""
        ...

    def open(self, look: Callable[[], None]) -> None:
        """Begin. `look`: to be called when more is due before the time that `wait_s` said."""
        ...

    def write(self, frame: Frame, now_ns: int) -> None:
        """Write a frame, in a worker's thread; may block. `now_ns`: since 1970."""
        ...

    def store(self, frame: Frame, now_ns: int) -> None:
        """Take a frame that `write` has had. `now_ns`: of the monotonic clock."""
        ...

    def tick(self, now_ns: int) -> None:
        """Do what is due. `now_ns`: of the monotonic clock."""
        ...

    def wait_s(self, now_ns: int) -> float | None:
        """Return in how many seconds more is due; None: nothing is, until it is told something."""
        ...

    def receive(self, token: str, payload: bytes) -> None:
        """Take an answer to what was published."""
        ...

    def take_lost(self) -> int:
        """Return the messages that were lost on their way since the last call."""
        ...

    def close(self, now_ns: int) -> None:
        """Leave things as they should be. `now_ns`: since 1970."""
        ...


class Recorder(Component):
    """Make frames of what waits, in a worker's thread, and give them to a sink.

    While the sink has no room, batches stay where they are: the plane drops what is more, and
    counts it.

    Args:
        plan: The rule.
        maker: Makes frames.
        sink: Takes them.
        unix_ns: The time of day, in nanoseconds since 1970.
        processors: Knows whether there are some to spare.
        log: The server's logger.
    """

    class Answered(Struct, frozen=True):
        """An answer came to what the sink has published."""

        token: str
        payload: bytes

    class _Woken(Struct, frozen=True):
        """Something waits."""

    class _Rested(Struct, frozen=True):
        """Others have had the processors for a while."""

    class _Due(Struct, frozen=True):
        """What waits has waited long enough."""

    class _LookDue(Struct, frozen=True):
        """Time to look after the sink."""

    class _Made(Struct, frozen=True):
        frame: Frame | BaseException

    def __init__(
        self,
        *,
        plan: RulePlan,
        maker: FrameMaker,
        sink: Sink,
        unix_ns: Callable[[], int],
        processors: Processors,
        log: FilteringBoundLogger,
    ) -> None:
        self._plan = plan
        self._maker = maker
        self._sink = sink
        self._unix_ns = unix_ns
        self._processors = processors
        self._log = log
        self._begun_ns = 0
        """When a worker was given the last frame to make."""
        self._is_resting = False
        self._is_woken = False
        self._is_making = False
        self._working = threading.Lock()
        """Held by who has the maker and `Sink.write`."""
        self._made_last: Frame | None = None
        """By a worker, and not stored yet."""
        self._due: Timer | None = None
        self._is_due = False
        self._look: Timer | None = None
        """At the sink. Who has nothing to do there takes no turn: there may be 10,000 rules."""
        self._problem = ""
        self._dropped = 0
        self._told: dict[str, int] = {}
        """Reasons for what was dropped, and when they were logged, of the last minute."""

    @override
    def on_start(self) -> None:
        self._plan.open(self._wake, self._answered)
        self._plan.sink = self._sink
        self._sink.open(self._look_now)
        self._look_after()
        self._consider()  # it may have come before

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case Recorder._Woken():
                self._is_woken = False
                self._consider()
            case Recorder._Rested():
                self._is_resting = False
                self._consider()
            case Recorder._Due():
                self._due, self._is_due = None, True
                self._consider()
            case Recorder._Made(frame):
                self._made(frame)
            case Recorder.Answered(token, payload):
                self._sink.receive(token, payload)
                self._look_after()
                self._consider()
            case Recorder._LookDue():
                self._take_look()
            case _:
                super().on_receive(message)

    @override
    def on_stop(self) -> None:
        # A worker that is about to be done is waited for: the loop has nothing better to do.
        if not self._working.acquire(timeout=STOP_WAIT_S):
            return  # a sink that hangs has it
        self._working.release()
        if self._made_last is not None:
            self._store(self._made_last)
        if self._sink.has_room and not self._plan.is_empty:
            self._store(self._record(*self._take()))
        self._sink.close(self._unix_ns())

    def _wake(self) -> None:
        if not self._is_woken and self.actor_ref.is_alive():
            self._is_woken = True
            self.actor_ref.tell(Recorder._Woken())

    def _answered(self, token: str, payload: bytes) -> None:
        if self.actor_ref.is_alive():
            self.actor_ref.tell(Recorder.Answered(token, payload))

    def _look_now(self) -> None:
        if self.actor_ref.is_alive():
            self.actor_ref.tell(Recorder._LookDue())

    def _consider(self) -> None:
        """Make a frame if it is time to, and there is room for it."""
        if self._plan.dropped != self._dropped:
            self._tell_dropped()
        is_at_work = self._is_making or self._is_resting
        if is_at_work or self._plan.is_empty or not self._sink.has_room:
            return
        if self._plan.size_bytes < FRAME_BYTES and not self._is_due:
            if self._due is None:
                self._due = self.tell_later(self._plan.rule.flush_interval, Recorder._Due())
            return
        self._begin(*self._take())

    def _take(self) -> tuple[list[Batch], list[Batch], int]:
        self._is_due = False
        dropped = self._plan.take_dropped() + self._sink.take_lost()
        answers = self._plan.take_answers(FRAME_BYTES)
        return self._plan.take(FRAME_BYTES), answers, dropped

    def _begin(self, batches: list[Batch], answers: list[Batch], dropped: int) -> None:
        self._is_making = True
        self._begun_ns = self.now_ns()
        self.run_blocking(self._record, batches, answers, dropped, answer=Recorder._Made)

    def _record(self, batches: list[Batch], answers: list[Batch], dropped: int) -> Frame:
        """Make a frame and write it; in a worker's thread."""
        now_ns, unix_ns = self.now_ns(), self._unix_ns()
        with self._working:
            if not (batches or answers or dropped):
                frame = EMPTY
            else:
                frame = self._maker.make(batches, answers, dropped, unix_ns - now_ns, now_ns)
            self._sink.write(frame, unix_ns)
            self._made_last = frame
        return frame

    def _made(self, frame: Frame | BaseException) -> None:
        self._is_making, self._made_last = False, None
        if isinstance(frame, BaseException):
            self._log.error("Tap {component} failed", component=self._plan.name, error=repr(frame))
            self._plan.failures += 1
        elif frame is not EMPTY:
            self._store(frame)
            self._rest()
        self._look_after(None if frame is EMPTY else LOOK_S)
        self._consider()

    def _rest(self) -> None:
        """Leave the processors to others where they are short: recording is what can wait."""
        now_ns = self.now_ns()
        if self._processors.are_short(now_ns) and not self._is_resting:
            self._is_resting = True
            rest_s = REST * (now_ns - self._begun_ns) / _SECOND_NS
            self.tell_later(min(rest_s, REST_S_MAX), Recorder._Rested())

    def _store(self, frame: Frame) -> None:
        if frame.rows or frame.dropped:
            self._sink.store(frame, self.now_ns())

    # -- looks at the sink ------------------------------------------------------------------------

    def _take_look(self) -> None:
        if self._is_making or not self._plan.is_empty or not self._sink.is_written_idle:
            self._look_after()
        else:
            self._begin([], [], 0)  # a segment may be old enough
        self._consider()

    def _look_after(self, at_most_s: float | None = None) -> None:
        """Do what is due at the sink, and look again when more is; or after `at_most_s`."""
        now_ns = self.now_ns()
        self._sink.tick(now_ns)
        if self._sink.problem != self._problem:
            self._tell_problem(self._sink.problem)
        waits = [it for it in (self._sink.wait_s(now_ns), at_most_s) if it is not None]
        if not waits:
            return
        wait_s = max(min(waits), LOOK_S)
        if self._look is None:
            self._look = self.tell_later(wait_s, Recorder._LookDue())
        else:
            self._look.reset(wait_s)

    def _tell_problem(self, problem: str) -> None:
        self._problem = problem
        if problem:
            self._log.warning(
                "Tap {component} does not reach {detail}: {reason}",
                component=self._plan.name,
                detail=self._sink.place,
                reason=problem,
            )

    def _tell_dropped(self) -> None:
        """Say why messages are not recorded; not for each of them."""
        plan, now_ns = self._plan, self.now_ns()
        self._dropped = plan.dropped
        if self._sink.problem or not self._sink.has_room:
            reason = self._sink.problem or f"{self._sink.place} takes no more at a time"
        elif self._is_resting:
            reason = "all processors have work, and recording waits for some to spare"
        else:
            reason = "more messages come than are recorded, and the buffer is full"
        plan.why_dropped = reason
        # Where processors are short, the reason is another one at each look.
        since_ns = now_ns - TOLD_S * _SECOND_NS
        self._told = {why: at_ns for why, at_ns in self._told.items() if at_ns > since_ns}
        if reason in self._told:
            return
        self._told[reason] = now_ns
        self._log.warning(
            "Tap {component} drops messages, {count} so far: {reason}",
            component=plan.name,
            count=plan.dropped,
            reason=reason,
        )
