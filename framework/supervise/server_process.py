"""The actor of one server process."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from framework.actors import Component
from framework.supervise.limits import REQUEST_DEADLINE_S
from framework.supervise.machine import (
    Arm,
    Drain,
    Effect,
    Kill,
    Launch,
    Phase,
    ServerMachine,
    Terminate,
)
from framework.supervise.process import exit_text
from framework.supervise.report import report_from_line
from framework.supervise.request import Answer, Asked, Verb
from framework.supervise.row import Meter, ServerRow
from framework.supervise.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from framework.spec.status import StatusSection
    from framework.supervise.machine import RestartPolicy
    from framework.supervise.process import Launcher, Process, ServerCommand

STATUS_CANNOT_LAUNCH = 127
"""Stands for the exit status of a process that did not come to be, as in a shell."""


_LOG_LINE_HEAD = re.compile(r"\[\d+\] \d+/\d+/\d+ [\d:.]+ (?=\[[A-Z]{3}\] )")
"""Pid and time of a log line: what happened just now is shown without them."""


class ServerProcess(Component):
    """Keep one server process running until told to stop.

    Args:
        command: How to launch it.
        launcher: Launches it.
        policy: Waits and limits.
        changed: Told how the server stands, whenever that changed; must not block.
        sections: What plugins show.
    """

    class Stop(Struct, frozen=True):
        """Stop the process gracefully."""

    class Kill(Struct, frozen=True):
        """Kill the process."""

    class Request(Struct, frozen=True):
        """Do what `verb` says, and answer once, at the latest after `REQUEST_DEADLINE_S`."""

        verb: Verb
        answer: Callable[[Answer], None]
        """Must not block."""

    class LinesReceived(Struct, frozen=True):
        """The process wrote status lines."""

        lines: tuple[bytes, ...]

    class Exited(Struct, frozen=True):
        """The process is gone."""

        status: int
        last_line: str

    class _TimerElapsed(Struct, frozen=True):
        timer: int

    class _RequestExpired(Struct, frozen=True):
        number: int

    def __init__(
        self,
        *,
        command: ServerCommand,
        launcher: Launcher,
        policy: RestartPolicy,
        changed: Callable[[ServerRow], None],
        sections: Sequence[StatusSection] = (),
    ) -> None:
        super().__init__()
        self._sections = sections
        self._command = command
        self._launcher = launcher
        self._changed = changed
        self._machine = ServerMachine(policy)
        self._process: Process | None = None
        self._meter = Meter()
        self._row = ServerRow(name=command.name, phase=self._machine.phase)
        self._requests: dict[int, tuple[Asked, Callable[[Answer], None]]] = {}
        self._requests_so_far = 0

    @override
    def on_start(self) -> None:
        self._perform(self._machine.start())

    @override
    def on_stop(self) -> None:
        # Reached with a process only when the supervisor fails.
        self._signal(signal.SIGKILL)

    @override
    def on_failure(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._signal(signal.SIGKILL)

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case ServerProcess.LinesReceived(lines):
                self._take_lines(lines)
            case ServerProcess.Exited(status, last_line):
                self._take_exit(status, last_line)
            case ServerProcess._TimerElapsed(timer):
                self._perform(self._machine.receive_timer(timer))
            case ServerProcess.Request(verb, answer):
                self._take_request(verb, answer)
            case ServerProcess._RequestExpired(number):
                self._expire(number)
            case ServerProcess.Stop():
                self._perform(self._machine.stop())
            case ServerProcess.Kill():
                self._perform(self._machine.kill())
            case _:
                super().on_receive(message)

    def receive_lines(self, lines: Sequence[bytes]) -> None:
        """Take status lines from the launcher; callable from any thread."""
        self._tell(ServerProcess.LinesReceived(tuple(lines)))

    def receive_exit(self, status: int, last_line: str) -> None:
        """Take the end of the process from the launcher; callable from any thread."""
        self._tell(ServerProcess.Exited(status, last_line))

    def _tell(self, message: object) -> None:
        if self.actor_ref.is_alive():
            self.actor_ref.tell(message)

    def _take_lines(self, lines: Sequence[bytes]) -> None:
        found = (report_from_line(line, self._sections) for line in reversed(lines))
        last = next((report for report in found if report is not None), None)
        if last is None:
            return
        now_ns = self.now_ns()
        # The process may write what it likes; its pid is what the kernel said.
        report = replace(last, pid=self._row.pid or 0)
        self._meter.receive_report(report, now_ns)
        self._row = replace(self._row, report=report, heard_ns=now_ns)
        effects = self._machine.receive_ready(now_ns) if report.ready else []
        effects += self._machine.receive_lame_duck() if report.lame_duck else []
        if self._machine.phase is Phase.READY and self._row.ready_since_ns is None:
            self._row = replace(self._row, ready_since_ns=now_ns)
        self._perform(effects)

    def _take_exit(self, status: int, last_line: str) -> None:
        self._process = None
        effects = self._machine.receive_exit(status, self.now_ns())
        self._meter = Meter()
        self._row = ServerRow(name=self._row.name, phase=self._machine.phase)
        if self._machine.phase is not Phase.STOPPED:
            self._row = replace(self._row, problem=_problem(status, last_line))
        self._perform(effects)

    def _take_request(self, verb: Verb, answer: Callable[[Answer], None]) -> None:
        self._requests_so_far += 1
        number = self._requests_so_far
        self._requests[number] = (Asked.of(verb, self._row), answer)
        self.tell_later(REQUEST_DEADLINE_S, ServerProcess._RequestExpired(number))
        match verb:
            case Verb.RELOAD:
                self._signal_running(signal.SIGHUP)
            case Verb.REOPEN:
                self._signal_running(signal.SIGUSR1)
        self._perform(self._effects_of(verb))

    def _effects_of(self, verb: Verb) -> list[Effect]:
        match verb:
            case Verb.DRAIN:
                return self._machine.drain()
            case Verb.STOP:
                return self._machine.stop()
            case Verb.START:
                return self._machine.start()
            case _:
                return []

    def _answer_requests(self) -> None:
        for number, (asked, answer) in list(self._requests.items()):
            found = asked.answer(self._row)
            if found is not None:
                del self._requests[number]
                answer(found)

    def _expire(self, number: int) -> None:
        if number in self._requests:
            _, answer = self._requests.pop(number)
            text = f"did not answer within {REQUEST_DEADLINE_S:g} s"
            answer(Answer(self._row.name, ok=False, text=text))

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Launch():
                    self._launch()
                case Drain():
                    self._signal(signal.SIGUSR2)
                case Terminate():
                    self._signal(signal.SIGTERM)
                case Kill():
                    self._signal(signal.SIGKILL)
                case Arm(delay_s, timer):
                    self.tell_later(delay_s, ServerProcess._TimerElapsed(timer))
        self._tell_row()

    def _launch(self) -> None:
        try:
            self._process = self._launcher.launch(self._command, self)
        except OSError as error:
            self.receive_exit(STATUS_CANNOT_LAUNCH, shown(str(error)))
        else:
            self._row = replace(self._row, pid=self._process.pid)

    def _signal(self, number: signal.Signals) -> None:
        # Without a process its end, or that it could not be launched, is in the mailbox.
        if self._process is not None:
            self._process.send_signal(number)

    def _signal_running(self, number: signal.Signals) -> None:
        """Signal a process that is not about to end."""
        if self._machine.phase in {Phase.STARTING, Phase.READY, Phase.DRAINING}:
            self._signal(number)

    def _tell_row(self) -> None:
        machine, meter = self._machine, self._meter
        self._row = replace(
            self._row,
            phase=machine.phase,
            restarts=machine.restarts,
            was_ever_ready=machine.was_ever_ready,
            wait_s=machine.wait_s if machine.phase is Phase.WAITING else 0.0,
            in_msgs_per_s=meter.in_msgs_per_s,
            out_msgs_per_s=meter.out_msgs_per_s,
        )
        self._changed(self._row)
        self._answer_requests()


def _problem(status: int, last_line: str) -> str:
    reason = "cannot be launched" if status == STATUS_CANNOT_LAUNCH else exit_text(status)
    # Who is killed has no last words: its last line is about something else.
    words = "" if status == -signal.SIGKILL else _LOG_LINE_HEAD.sub("", last_line)
    return f"{reason}: {words}" if words else reason
