"""The actor of one rule, by virtual time."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from framework_tap.config import TapRule
from framework_tap.file_sink import FileSink
from framework_tap.frames import EMPTY
from framework_tap.limits import MAKE_RETRY_S
from framework_tap.make_turns import MakeTurns
from framework_tap.processors import Processors
from framework_tap.recorder import LOOK_S, Recorder
from framework_tap.rule_plan import RulePlan
from framework_tap.stream_sink import StreamSink

from framework.actors import ActorSystem, SimulatedDispatcher

RULE = TapRule(subjects=("a",))
INBOX = "$TAPS.x"
HOUR_S = 3600.0


class World:
    """A recorder and its rule; nothing comes but what a test says."""

    def __init__(self, sink, plan=None):
        self.dispatcher = SimulatedDispatcher()
        self.plan = plan or RulePlan("r", "$G", RULE, INBOX)
        self.maker = Mock()
        self.maker.make.return_value = EMPTY
        self.log = Mock()
        system = ActorSystem(self.dispatcher)
        self.recorder = system.spawn(
            Recorder, plan=self.plan, maker=self.maker, sink=sink, unix_ns=self.dispatcher.now_ns,
            processors=Processors(read=str), log=self.log,
        )  # fmt: skip
        self.dispatcher.run_for(10 * LOOK_S)

    def turns_in(self, duration_s):
        """Return how many turns there are in so many seconds."""
        until_ns = self.dispatcher.now_ns() + int(duration_s * 1e9)
        count = 0
        while self.dispatcher.step(until_ns):
            count += 1
        return count


@pytest.fixture
def said():
    return []


@pytest.fixture
def stream(said):
    return StreamSink(
        rule="r", account="A", config=RULE, server="s", run="RUN.1", inbox=INBOX,
        publish=lambda *message: said.append(message), turns=MakeTurns(),
    )  # fmt: skip


def test_a_rule_that_finds_nothing_takes_no_turns(stream, said):
    world = World(stream)
    assert len(said) > 1
    world.recorder.tell(Recorder.Answered("make", b"{}"))
    world.dispatcher.run_for(LOOK_S)
    world.turns_in(2 * MAKE_RETRY_S)

    assert 0 == world.turns_in(HOUR_S)
    assert 0 == world.dispatcher.timer_count


def test_a_rule_whose_turn_it_is_asks_for_its_stream(said):
    turns = MakeTurns(1)
    turns.take("another rule", str)
    sink = StreamSink(
        rule="r", account="A", config=RULE, server="s", run="RUN.1", inbox=INBOX,
        publish=lambda *message: said.append(message), turns=turns,
    )  # fmt: skip
    world = World(sink)
    assert ([], 0) == (said, world.dispatcher.timer_count)
    turns.give_back("another rule")
    world.dispatcher.run_for(LOOK_S)

    assert said


class Full:
    """A batch of nothing, which says how many messages were dropped before it."""

    count = 0

    def drops(self):
        return self

    def __len__(self):
        return 0


def test_each_reason_for_drops_is_logged_once_a_minute():
    sink = Mock(problem="", has_room=False, place="folder x", is_written_idle=False)
    sink.wait_s.return_value = None
    world = World(sink)
    [tap, *_] = world.plan.taps()
    batch = Full()
    for at in range(2 * 60 * 4):
        sink.problem = "the disk is full" if at % 2 else ""
        batch.count += 1
        tap.receive(batch)
        world.dispatcher.run_for(0.25)
        assert (sink.problem or "folder x takes no more at a time") == world.plan.why_dropped

    reasons = [call.kwargs["reason"] for call in world.log.warning.call_args_list]
    assert 2 * ["folder x takes no more at a time", "the disk is full"] == reasons


def test_what_has_come_before_a_recorder_began_is_recorded():
    sink = Mock(problem="", place="x", is_written_idle=False)
    sink.wait_s.return_value = None
    sink.take_lost.return_value = 0
    batch = Full()
    batch.count = 7
    plan = RulePlan("r", "$G", RULE, INBOX)
    next(plan.taps()).receive(batch)
    world = World(sink, plan)

    [call] = world.maker.make.call_args_list
    assert 7 == call.args[2]


def test_a_rule_into_files_that_finds_nothing_takes_no_turns(tmp_path):
    world = World(FileSink(tmp_path, RULE, "x"))

    assert 0 == world.turns_in(HOUR_S)


def test_a_rule_without_a_stream_asks_for_it_now_and_then(stream, said):
    world = World(stream)
    for _ in range(10):
        world.recorder.tell(Recorder.Answered("make", b'{"error": {"description": "full"}}'))
        world.dispatcher.run_for(MAKE_RETRY_S)
    said.clear()
    turns = world.turns_in(HOUR_S)

    assert HOUR_S / MAKE_RETRY_S == pytest.approx(len(said), rel=0.05)
    assert turns < 5 * len(said)
    assert "full" in world.log.warning.call_args.kwargs["reason"]
