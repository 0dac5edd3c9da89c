"""Filters of consumers: what is pending is exact, however many consumers a stream has."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

import pytest
from framework_jetstream.api.records import ConsumerConfig, StreamConfig
from framework_jetstream.consumer.terms import terms_of
from framework_jetstream.engine._engine import Engine
from framework_jetstream.engine.refusals import refusal_texts
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.stream.rules import limits_of

sys.path.insert(0, str(Path(__file__).parent))

from fake_port import FakePort

STREAM = 1
SECOND_NS = 10**9
FILTERS = (
    *([], ["s.>"], ["s.*.b"], ["s.a.>"], ["s.a.b"], ["s.c.b"], ["s.*"], ["s.a.b", "s.c.>"]),
    *(["s.*.c", "s.a.b"], ["s.x"]),
)
SUBJECTS = ("s.a.b", "s.a.c", "s.c.b", "s.c.d.e", "s.x", "s.y")


def matches(pattern: str, subject: str) -> bool:
    text = re.escape(pattern).replace(r"\*", "[^.]+").replace(">", ".+")
    return re.fullmatch(text, subject) is not None


class Model:
    """A consumer, as simple as can be."""

    def __init__(self, filters: list[str]) -> None:
        self.filters = filters
        self.delivered = 0
        self.unacknowledged: set[int] = set()

    def wants(self, subject: str) -> bool:
        return not self.filters or any(matches(it, subject) for it in self.filters)


class Play:
    """An engine with a stream in memory, and what it has to be like."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"{seed} filters")
        self.port = FakePort()
        self.engine = Engine(refusal_texts(), seed, b"", b"abcdefghijkl")
        self.engine.open(self.port.capsule())
        self.now = SECOND_NS
        self.messages: dict[int, str] = {}
        self.last = 0
        self.models: dict[int, Model] = {}
        self.made = STREAM
        config = StreamConfig(
            name="S",
            subjects=["s.>"],
            storage="memory",
            max_msgs=-1,
            max_msgs_per_subject=-1,
            max_bytes=-1,
            max_msg_size=-1,
        )
        opening = {"numbers": (1, 0, 0), "limits": limits_of(config)}
        self.ask(Verb.OPEN_STREAM, STREAM, first=b"S", second=b"s.>", **opening)

    def ask(self, verb: Verb, number: int, **more: object) -> tuple[int, ...]:
        asked = self.engine.command(verb, number, **more)
        self.turn()
        [numbers] = [it[2] for it in self.engine.answers() if it[0] == asked]
        return numbers

    def turn(self) -> None:
        self.now += 1000
        self.engine.turn(self.now, self.now)

    def tell_consumer(self, verb: Verb, number: int, filters: list[str]) -> None:
        config = ConsumerConfig(
            durable_name=f"C{number}",
            ack_policy="explicit",
            ack_wait=10**15,
            max_deliver=-1,
            max_ack_pending=-1,
            max_waiting=8,
        )
        texts = {"first": "\n".join([f"C{number}", *filters]).encode(), "second": b"\n"}
        self.ask(verb, number, numbers=(STREAM, 0), terms=terms_of(config), **texts)

    def open(self) -> None:
        self.made += 1
        self.models[self.made] = Model(self.rng.choice(FILTERS))
        self.tell_consumer(Verb.OPEN_CONSUMER, self.made, self.models[self.made].filters)

    def change(self) -> None:
        number, model = self.rng.choice(sorted(self.models.items()))
        if model.delivered == 0:  # the others may have looked past what they did not want
            model.filters = self.rng.choice(FILTERS)
            self.tell_consumer(Verb.UPDATE_CONSUMER, number, model.filters)

    def close(self) -> None:
        number = self.rng.choice(sorted(self.models))
        del self.models[number]
        self.ask(Verb.CLOSE_CONSUMER, number)

    def publish(self) -> None:
        self.last += 1
        subject = self.rng.choice(SUBJECTS)
        self.messages[self.last] = subject
        self.port.tell(1, [(b"s.>", subject.encode(), b"", b"", b"x")])
        self.turn()

    def delete(self) -> None:
        if self.messages:
            seq = self.rng.choice(sorted(self.messages))
            del self.messages[seq]
            self.ask(Verb.DELETE_MESSAGE, STREAM, numbers=(seq,))

    def pull(self) -> None:
        number, model = self.rng.choice(sorted(self.models.items()))
        subject = f"$JS.API.CONSUMER.MSG.NEXT.S.C{number}".encode()
        request = json.dumps({"batch": 2, "no_wait": True}).encode()
        self.port.said.clear()
        self.port.tell(1, [(subject, subject, b"pull", b"", request)])
        self.turn()
        for target, reply, _, _ in self.port.said:
            if target == b"pull" and reply:
                seq = int(reply.split(b".")[5])
                assert seq == min(
                    it
                    for it, subject in self.messages.items()
                    if it > model.delivered and model.wants(subject)
                )
                model.delivered = seq
                model.unacknowledged.add(seq)

    def check(self) -> None:
        for number, model in self.models.items():
            state = self.ask(Verb.CONSUMER_STATE, number)
            assert state[7] == sum(
                seq > model.delivered and model.wants(subject)
                for seq, subject in self.messages.items()
            )
            assert state[4] == len(model.unacknowledged & set(self.messages))

    def run(self) -> None:
        work = [self.open] * 3 + [self.change, self.close, self.delete, self.pull]
        for _ in range(200):
            step = self.rng.choice(work + [self.publish] * 5)
            if self.models or step in {self.open, self.publish, self.delete}:
                step()
            if self.rng.random() < 0.1:
                self.check()
        self.check()


@pytest.mark.parametrize("seed", range(30))
def test_what_is_pending_is_exact(seed: int) -> None:
    Play(seed).run()


def test_what_a_filter_wants_no_more_need_not_be_acknowledged_when_it_is_gone() -> None:
    play = Play(0)
    for number in range(2, 14):
        play.models[number] = Model(["s.x"])
        play.tell_consumer(Verb.OPEN_CONSUMER, number, ["s.x"])
    play.port.tell(1, [(b"s.>", b"s.x", b"", b"", b"x")])
    play.messages[1] = "s.x"
    play.turn()
    play.models = {2: play.models[2]}
    play.pull()
    play.tell_consumer(Verb.UPDATE_CONSUMER, 2, ["s.y"])
    play.models[2].filters = ["s.y"]
    play.check()
    play.messages.clear()
    play.ask(Verb.DELETE_MESSAGE, STREAM, numbers=(1,))

    play.check()
