"""The actor that keeps the servers of a topology running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from framework.actors import Component
from framework.supervise.machine import Phase
from framework.supervise.request import Answer, Verb
from framework.supervise.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.actors import ActorRef
    from framework.spec.status import StatusSection
    from framework.supervise.machine import RestartPolicy
    from framework.supervise.process import Launcher, ServerCommand
    from framework.supervise.row import ServerRow
    from framework.supervise.status import Status

TICK_S = 1.0
"""Servers report once a second; showing them more often would show the same."""

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_KILLED = 130
"""As a shell reports a program that Ctrl-C ended."""


class Supervisor(Component):
    """Launch all servers, show their status, and stop them together.

    A server that does not come up at all ends the others: a topology runs whole or not at all.
    One that was up before and then fails for good leaves the others alone.

    Args:
        commands: How to launch the servers; at least one, names unique.
        launcher: Launches them.
        policy: Waits and limits of each.
        status: Shows them.
        sections: What plugins show.
        finished: Told the exit status once every server is down; must not block.
    """

    class ServerChanged(Struct, frozen=True):
        """The status of a server has changed."""

        row: ServerRow

    class Interrupt(Struct, frozen=True):
        """Stop all servers; the second time, kill them."""

    class Request(Struct, frozen=True):
        """Do something with one server or with all; each answers once."""

        verb: Verb
        answer: Callable[[Answer], None]
        """Must not block."""
        server: str | None = None
        """None: all."""
        done: Callable[[], None] = lambda: None
        """Called after the last answer; must not block."""

    class _TickElapsed(Struct, frozen=True):
        """Time to show the figures again."""

    def __init__(
        self,
        *,
        commands: Sequence[ServerCommand],
        launcher: Launcher,
        policy: RestartPolicy,
        status: Status,
        finished: Callable[[int], None],
        sections: Sequence[StatusSection] = (),
    ) -> None:
        super().__init__()
        assert commands
        assert len({command.name for command in commands}) == len(commands)
        self._commands = tuple(commands)
        self._launcher = launcher
        self._policy = policy
        self._status = status
        self._sections = sections
        self._finished = finished
        self._servers: dict[str, ActorRef[ServerProcess]] = {}
        self._rows: dict[str, ServerRow] = {}
        self._interrupts = 0
        self._exit_status: int | None = None
        self._is_finished = False

    @override
    def on_start(self) -> None:
        for command in self._commands:
            self._servers[command.name] = self.spawn(
                ServerProcess,
                command=command,
                launcher=self._launcher,
                policy=self._policy.of(command.start_deadline_s),
                changed=self._tell_changed,
                sections=self._sections,
                name=command.name,
            )
        self.tell_later(TICK_S, Supervisor._TickElapsed())

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case Supervisor.ServerChanged(row):
                self._take_row(row)
            case Supervisor.Interrupt():
                self._interrupt()
            case Supervisor.Request():
                self._request(message)
            case Supervisor._TickElapsed():
                self._show()
                self.tell_later(TICK_S, message)
            case _:
                super().on_receive(message)

    @override
    def on_child_stopped(self, child: ActorRef[Any]) -> None:
        # Servers come and go without their actors; an actor that ends has met a bug of ours.
        for name, row in self._rows.items():
            if child.name == f"{self.actor_ref.name}/{name}" and not row.phase.is_final:
                problem = "the supervisor lost track of it; please report this"
                self._take_row(replace(row, phase=Phase.FAILED, problem=problem))
                break

    def _tell_changed(self, row: ServerRow) -> None:
        self.actor_ref.tell(Supervisor.ServerChanged(row))

    def _take_row(self, row: ServerRow) -> None:
        before = self._rows.get(row.name)
        self._rows[row.name] = row
        if before is None or before.headline != row.headline:
            self._show()
        if row.phase is Phase.FAILED and not row.was_ever_ready and self._exit_status is None:
            self._begin_stop(EXIT_FAILED)
        self._finish_if_down()

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self._begin_stop(EXIT_STOPPED)
        else:
            self._exit_status = EXIT_KILLED
            self._tell_servers(ServerProcess.Kill())

    def _begin_stop(self, exit_status: int) -> None:
        if self._exit_status is None:
            self._exit_status = exit_status
        self._tell_servers(ServerProcess.Stop())

    def _tell_servers(self, message: object) -> None:
        for server in self._servers.values():
            server.tell(message)

    def _request(self, request: Supervisor.Request) -> None:
        if request.server is None:
            names = list(self._servers)
        elif request.server in self._servers:
            names = [request.server]
        else:
            text = f"is no server of this topology; it has {', '.join(self._servers)}"
            request.answer(Answer(request.server, ok=False, text=text))
            request.done()
            return
        if request.verb is Verb.STOP and request.server is None and self._exit_status is None:
            self._exit_status = EXIT_STOPPED
        left = len(names)

        def answered(answer: Answer) -> None:
            nonlocal left
            left -= 1
            request.answer(answer)
            if not left:
                request.done()

        for name in names:
            self._servers[name].tell(ServerProcess.Request(request.verb, answered))

    @property
    def _is_complete(self) -> bool:
        """Whether every server was heard of; they all are within the first turns."""
        return len(self._rows) == len(self._commands)

    def _finish_if_down(self) -> None:
        is_down = self._is_complete and all(row.phase.is_final for row in self._rows.values())
        if is_down and not self._is_finished:
            self._is_finished = True
            self._finished(self._exit_status_of_all())

    def _exit_status_of_all(self) -> int:
        """Return the exit status; servers that were stopped one by one are no failure."""
        if self._exit_status is not None:
            return self._exit_status
        has_failed = any(row.phase is Phase.FAILED for row in self._rows.values())
        return EXIT_FAILED if has_failed else EXIT_STOPPED

    def _show(self) -> None:
        if not self._is_complete:
            return
        try:
            self._status.show(
                [self._rows[command.name] for command in self._commands], self.now_ns()
            )
        except BrokenPipeError:
            self._begin_stop(EXIT_STOPPED)
        except OSError:
            pass  # a full disk or a terminal that went away says nothing of the servers
