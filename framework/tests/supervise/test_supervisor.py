"""The supervisor and its servers in virtual time, with processes that a test plays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from framework.actors import ActorSystem, SimulatedDispatcher
from framework.supervise.limits import REQUEST_DEADLINE_S
from framework.supervise.machine import Phase, RestartPolicy
from framework.supervise.process import ServerCommand
from framework.supervise.request import Answer, Verb
from framework.supervise.supervisor import Supervisor

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence

    from framework.supervise.process import Listener
    from framework.supervise.row import ServerRow

SIGKILLED = -9
SIGSEGV = -11
POLICY = RestartPolicy(
    delay_first_s=1,
    delay_max_s=8,
    healthy_s=60,
    failures_max=3,
    first_failures_max=2,
    start_deadline_s=30,
    stop_deadline_s=10,
)


class Played:
    """A process of which a test decides what it does."""

    def __init__(self, pid: int, listener: Listener) -> None:
        self.pid = pid
        self.listener = listener
        self.signals: list[str] = []

    def send_signal(self, number: signal.Signals) -> None:
        self.signals.append(number.name.removeprefix("SIG").lower())

    def report(self, **fields: object) -> None:
        line = json.dumps({"ready": True} | fields).encode()
        self.listener.receive_lines([b"garbage", line])

    def exit(self, status: int = 0, last_line: str = "") -> None:
        self.listener.receive_exit(status, last_line)


class Stage:
    """A supervisor of played servers in virtual time; also its launcher and its status."""

    def __init__(self, *names: str, seed: int = 0) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.launched: dict[str, list[Played]] = {name: [] for name in names}
        self.rows: dict[str, ServerRow] = {}
        self.finished: list[int] = []
        self.launch_error: OSError | None = None
        self.show_error: OSError | None = None
        self.supervisor = ActorSystem(self.dispatcher).spawn(
            Supervisor,
            commands=[ServerCommand(name, ("server", name)) for name in names],
            launcher=self,
            policy=POLICY,
            status=self,
            finished=self.finished.append,
            name="supervisor",
        )
        self.run()

    def launch(self, command: ServerCommand, listener: Listener) -> Played:
        if self.launch_error is not None:
            raise self.launch_error
        process = Played(100 + sum(map(len, self.launched.values())), listener)
        self.launched[command.name].append(process)
        return process

    def show(self, rows: Sequence[ServerRow], now_ns: int) -> None:
        if self.show_error is not None:
            raise self.show_error
        self.rows = {row.name: row for row in rows}

    def close(self) -> None:
        pass

    def run(self, duration_s: float = 0) -> None:
        self.dispatcher.run_for(duration_s)

    def interrupt(self) -> None:
        self.supervisor.tell(Supervisor.Interrupt())
        self.run()

    def phase(self, name: str) -> Phase:
        return self.rows[name].phase


@pytest.fixture(params=range(5))
def stage(request: pytest.FixtureRequest) -> Stage:
    """Return a stage with two servers that are ready."""
    stage = Stage("a", "b", seed=request.param)
    for [process] in stage.launched.values():
        process.report(client="127.0.0.1:4222", connections=2)
    stage.run()
    return stage


def test_all_are_launched_and_shown(stage: Stage) -> None:
    row = stage.rows["a"]

    assert row.phase is Phase.READY
    assert row.pid == stage.launched["a"][0].pid
    assert row.report.client == "127.0.0.1:4222"
    assert row.report.connections == 2


def test_figures_are_shown_once_a_second(stage: Stage) -> None:
    [process] = stage.launched["a"]
    process.report(in_msgs=0)
    stage.run(1)
    process.report(in_msgs=500, out_msgs=50)
    stage.run(1)

    assert (stage.rows["a"].in_msgs_per_s, stage.rows["a"].out_msgs_per_s) == (500, 50)


def test_a_crashed_server_comes_back_and_the_others_stay(stage: Stage) -> None:
    stage.launched["a"][0].exit(SIGSEGV, "out of luck")
    stage.run()
    assert stage.phase("a") is Phase.WAITING
    assert stage.rows["a"].problem == "killed by SIGSEGV: out of luck"
    assert stage.rows["a"].pid is None
    stage.run(1)
    stage.launched["a"][1].report()
    stage.run()

    assert stage.phase("a") is Phase.READY
    assert stage.rows["a"].restarts == 1
    assert len(stage.launched["b"]) == 1


def test_who_was_killed_has_no_last_words(stage: Stage) -> None:
    stage.launched["a"][0].exit(SIGKILLED, "all is well")
    stage.run()

    assert stage.rows["a"].problem == "killed by SIGKILL"


def test_a_crash_loop_backs_off_and_ends(stage: Stage) -> None:
    launched_s = []
    for _ in range(3):
        stage.launched["a"][-1].exit(3)
        stage.run()
        while stage.phase("a") is not Phase.STARTING:
            stage.run(1)
        launched_s.append(stage.dispatcher.now_ns() / 1e9)
    stage.launched["a"][-1].exit(3)
    stage.run()

    assert launched_s == [1, 3, 7]
    assert stage.phase("a") is Phase.FAILED
    assert stage.phase("b") is Phase.READY
    assert stage.finished == []


def test_when_none_is_left_it_is_over(stage: Stage) -> None:
    for name in ("a", "b"):
        for _ in range(4):
            stage.launched[name][-1].exit(3)
            stage.run(20)

    assert stage.finished == [1]


def test_an_interrupt_stops_all(stage: Stage) -> None:
    stage.interrupt()
    assert [process.signals for [process] in stage.launched.values()] == [["term"], ["term"]]
    stage.launched["a"][0].exit()
    stage.run()
    assert stage.finished == []
    stage.launched["b"][0].exit()
    stage.run()

    assert stage.finished == [0]
    assert {row.phase for row in stage.rows.values()} == {Phase.STOPPED}


def test_a_server_that_does_not_stop_is_killed_at_the_deadline(stage: Stage) -> None:
    stage.interrupt()
    stage.run(9)
    assert stage.launched["a"][0].signals == ["term"]
    stage.run(1)

    assert stage.launched["a"][0].signals == ["term", "kill"]


def test_the_second_interrupt_kills_at_once(stage: Stage) -> None:
    stage.interrupt()
    stage.interrupt()
    for [process] in stage.launched.values():
        assert process.signals == ["term", "kill"]
        process.exit(SIGKILLED)
    stage.run()

    assert stage.finished == [130]


def test_an_interrupt_while_a_server_waits_does_not_launch_it(stage: Stage) -> None:
    stage.launched["a"][0].exit(SIGKILLED)
    stage.run()
    stage.interrupt()
    stage.launched["b"][0].exit()
    stage.run(60)

    assert stage.finished == [0]
    assert len(stage.launched["a"]) == 1


def test_a_server_that_refuses_to_start_ends_all() -> None:
    stage = Stage("a", "b")
    stage.launched["b"][0].report()
    stage.launched["a"][0].exit(1, "[7] 2026/11/21 12:07:35.312691 [FTL] port 4222 is taken")
    stage.run()

    assert stage.launched["b"][0].signals == ["term"]
    stage.launched["b"][0].exit()
    stage.run()
    assert stage.finished == [1]
    assert stage.rows["a"].problem == "exit status 1: [FTL] port 4222 is taken"


def test_a_start_that_hangs_is_killed_and_tried_again() -> None:
    stage = Stage("a")
    stage.run(30)
    assert stage.launched["a"][0].signals == ["kill"]
    stage.launched["a"][0].exit(SIGKILLED)
    stage.run(1)

    assert stage.phase("a") is Phase.STARTING


def test_a_process_that_cannot_be_made_is_tried_again() -> None:
    stage = Stage("a")
    stage.launch_error = BlockingIOError(11, "no room")
    stage.launched["a"][0].exit(3)
    stage.run(1)
    assert stage.phase("a") is Phase.WAITING
    assert "no room" in stage.rows["a"].problem
    stage.launch_error = None
    stage.run(2)

    assert stage.phase("a") is Phase.STARTING


def test_a_status_that_nobody_reads_any_more_ends_all(stage: Stage) -> None:
    stage.show_error = BrokenPipeError()
    stage.run(1)

    assert stage.launched["a"][0].signals == ["term"]


def test_a_status_that_cannot_be_written_ends_nothing(stage: Stage) -> None:
    stage.show_error = OSError(28, "No space left on device")
    stage.run(3)

    assert stage.launched["a"][0].signals == []


class Answers:
    """What servers answered, in the order in which they did."""

    def __init__(self) -> None:
        self.heard: list[Answer] = []
        self.is_over = False

    def ask(self, stage: Stage, verb: Verb, server: str | None = None) -> Answers:
        request = Supervisor.Request(verb, self.heard.append, server, self.end)
        stage.supervisor.tell(request)
        stage.run()
        return self

    def end(self) -> None:
        self.is_over = True


def test_a_reload_reaches_all_and_each_answers_for_itself(stage: Stage) -> None:
    [a], [b] = stage.launched["a"], stage.launched["b"]
    answers = Answers().ask(stage, Verb.RELOAD)
    assert a.signals == b.signals == ["hup"]
    assert answers.heard == []
    b.report(reload={"count": 1, "error": "port needs a restart"})
    stage.run()
    a.report(reload={"count": 1, "options": ["max_payload", "debug"]})
    stage.run()

    assert answers.heard == [
        Answer("b", ok=False, text="refused the reload: port needs a restart"),
        Answer("a", ok=True, text="reloaded: max_payload, debug"),
    ]
    assert answers.is_over
    assert stage.phase("a") is stage.phase("b") is Phase.READY


def test_the_reload_before_is_no_answer_to_the_next(stage: Stage) -> None:
    [a] = stage.launched["a"]
    a.report(reload={"count": 3, "error": "of old"})
    stage.run()
    answers = Answers().ask(stage, Verb.RELOAD, "a")
    a.report(reload={"count": 3, "error": "of old"})
    stage.run()
    assert answers.heard == []
    a.report(reload={"count": 4})
    stage.run()

    assert answers.heard == [Answer("a", ok=True, text="reloaded, nothing has changed")]


def test_a_server_that_ends_answers_no_reload(stage: Stage) -> None:
    answers = Answers().ask(stage, Verb.RELOAD, "a")
    stage.launched["a"][0].exit(SIGSEGV)
    stage.run()

    [answer] = answers.heard
    assert answer.text == "is down, and reads its configuration when it is launched again"


def test_a_server_that_says_nothing_is_waited_for_only_so_long(stage: Stage) -> None:
    answers = Answers().ask(stage, Verb.RELOAD, "a")
    stage.run(REQUEST_DEADLINE_S + 1)

    assert answers.heard == [Answer("a", ok=False, text="did not answer within 40 s")]
    assert answers.is_over


def test_a_server_that_was_drained_stays_down_and_the_others_up(stage: Stage) -> None:
    [a] = stage.launched["a"]
    answers = Answers().ask(stage, Verb.DRAIN, "a")
    assert a.signals == ["usr2"]
    assert stage.phase("a") is Phase.DRAINING
    a.report(lame_duck=True)
    stage.run()
    assert [answer.text for answer in answers.heard] == [
        "drains, and stops when its clients are gone"
    ]
    a.exit(0)
    stage.run(100)

    assert stage.phase("a") is Phase.STOPPED
    assert stage.phase("b") is Phase.READY
    assert len(stage.launched["a"]) == 1
    assert stage.finished == []


@pytest.mark.parametrize("status", [0, 1, SIGKILLED])
def test_a_server_that_somebody_else_drained_stays_down_however_it_ends(
    stage: Stage, status: int
) -> None:
    [a] = stage.launched["a"]
    a.report(lame_duck=True)
    stage.run()
    a.exit(status)
    stage.run(100)

    assert stage.phase("a") is Phase.STOPPED


def test_when_all_are_drained_the_run_has_succeeded(stage: Stage) -> None:
    answers = Answers().ask(stage, Verb.DRAIN)
    for [process] in stage.launched.values():
        process.exit(0)
    stage.run()

    assert {answer.text for answer in answers.heard} == {"is stopped"}
    assert stage.finished == [0]


def test_an_interrupt_ends_what_drains(stage: Stage) -> None:
    Answers().ask(stage, Verb.DRAIN)
    stage.interrupt()

    assert [process.signals for [process] in stage.launched.values()] == [["usr2", "term"]] * 2


def test_logs_are_reopened_everywhere(stage: Stage) -> None:
    answers = Answers().ask(stage, Verb.REOPEN)

    assert [process.signals for [process] in stage.launched.values()] == [["usr1"]] * 2
    assert [answer.ok for answer in answers.heard] == [True, True]


def test_a_server_is_stopped_and_started_again(stage: Stage) -> None:
    [a] = stage.launched["a"]
    stopped = Answers().ask(stage, Verb.STOP, "a")
    assert a.signals == ["term"]
    a.exit(0)
    stage.run(100)
    assert stopped.heard == [Answer("a", ok=True, text="is stopped")]
    assert len(stage.launched["a"]) == 1

    started = Answers().ask(stage, Verb.START, "a")
    again = stage.launched["a"][1]
    again.report()
    stage.run()

    assert started.heard == [Answer("a", ok=True, text=f"is ready, pid {again.pid}")]
    assert stage.phase("a") is Phase.READY


def test_a_start_that_fails_says_why(stage: Stage) -> None:
    Answers().ask(stage, Verb.STOP, "a")
    stage.launched["a"][0].exit(0)
    stage.run()
    answers = Answers().ask(stage, Verb.START, "a")
    stage.launched["a"][1].exit(1, "port 4222 is taken")
    stage.run()

    [answer] = answers.heard
    assert answer == Answer("a", ok=False, text="is down: exit status 1: port 4222 is taken")


def test_all_that_are_stopped_are_a_success(stage: Stage) -> None:
    Answers().ask(stage, Verb.STOP)
    for [process] in stage.launched.values():
        process.exit(0)
    stage.run()

    assert stage.finished == [0]


def test_a_server_that_is_not_there_is_named(stage: Stage) -> None:
    answers = Answers().ask(stage, Verb.STOP, "c")

    text = "is no server of this topology; it has a, b"
    assert answers.heard == [Answer("c", ok=False, text=text)]
    assert answers.is_over
