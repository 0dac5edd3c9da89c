"""The stream machine beside a naive model of it."""

from __future__ import annotations

import re
from itertools import count

import pytest
from framework_jetstream.stream._streamhandle import StreamMachine, matches
from hypothesis import given, settings
from hypothesis import strategies as st

STORED, SEALED, HEADER_TOO_LARGE, MESSAGE_TOO_LARGE = range(4)
WRONG_STREAM, WRONG_LAST_SEQ = 10, 11
WRONG_LAST_MSG_ID = 13
ROLLUP_NOT_PERMITTED, ROLLUP_INVALID, MAX_MSGS, MAX_BYTES, MAX_PER_SUBJECT = 15, 16, 17, 18, 19
SUBJECTS = [b"s.a", b"s.b", b"s.b.c", b"t"]
PATTERNS = [b"", b">", b"s.*", b"s.>", b"s.a", b"t", b"*", b"none"]
HEADERS = [
    b"",
    b"X: y",
    b"Nats-Msg-Id: one",
    b"Nats-Msg-Id: two",
    b"Nats-Expected-Last-Sequence: 3",
    b"Nats-Expected-Last-Subject-Sequence: 2",
    b"Nats-Expected-Stream: T",
    b"Nats-Rollup: sub",
    b"Nats-Rollup: all",
    b"Nats-Rollup: odd",
    b"Nats-Expected-Last-Msg-Id: one",
]


def pattern_regex(pattern):
    tokens = pattern.decode().split(".")
    words = [{"*": r"[^.]+", ">": r".+"}.get(token, re.escape(token)) for token in tokens]
    return re.compile(r"\.".join(words))


class Model:
    """What a stream is, without any index."""

    def __init__(self, limits):
        self.limits = limits
        self.rows = []
        self.last_seq = self.first_seq = 0
        self.ids = {}
        self.last_id = b""

    def size(self, row):
        _, subject, header, payload, _ = row
        return 16 + len(subject) + len(header) + len(payload)

    def limit(self, name):
        return self.limits.get(name, 0)

    def of(self, subject):
        return [row for row in self.rows if row[1] == subject]

    def drop(self, gone):
        self.rows = [row for row in self.rows if row not in gone]
        if gone:
            self.first_seq = self.rows[0][0] if self.rows else self.last_seq + 1

    def keep_limits_of_subjects(self):
        for subject in {row[1] for row in self.rows}:
            if self.limit("max_msgs_per_subject"):
                self.drop(self.of(subject)[: -self.limit("max_msgs_per_subject")])

    def keep_limits(self):
        while (
            self.rows
            and not self.limit("discard_new")
            and (
                (self.limit("max_msgs") and len(self.rows) > self.limit("max_msgs"))
                or (
                    self.limit("max_bytes")
                    and sum(map(self.size, self.rows)) > self.limit("max_bytes")
                )
            )
        ):
            self.drop(self.rows[:1])

    def refusal(self, subject, name, value, row):
        mine = self.of(subject)
        last_of_subject = mine[-1][0] if mine else 0
        is_unreadable = value not in {"sub", "all"}
        refused = {
            "Expected-Stream": (True, WRONG_STREAM),
            "Msg-Id": (value in self.ids, None),
            "Expected-Last-Sequence": (value != str(self.last_seq), WRONG_LAST_SEQ),
            "Expected-Last-Msg-Id": (value.encode() != self.last_id, WRONG_LAST_MSG_ID),
            "Expected-Last-Subject-Sequence": (value != str(last_of_subject), WRONG_LAST_SEQ),
            "Rollup": (is_unreadable, ROLLUP_INVALID),
        }
        if name == "Rollup" and not self.limit("allow_rollup"):
            return ROLLUP_NOT_PERMITTED
        is_refused, refusal = refused.get(name, (False, None))
        if is_refused:
            return refusal
        return self.refusal_of_limits(mine, row, rolls_up=name == "Rollup")

    def refusal_of_limits(self, mine, row, *, rolls_up):
        if not self.limit("discard_new"):
            return STORED
        most = self.limit("max_msgs_per_subject")
        replaces = bool(most) and len(mine) >= most
        if replaces and self.limit("discard_new_per_subject") and not rolls_up:
            return MAX_PER_SUBJECT
        if self.limit("max_msgs") and len(self.rows) >= self.limit("max_msgs") and not replaces:
            return MAX_MSGS
        size = self.size(row)
        held = sum(map(self.size, self.rows))
        is_full = self.limit("max_bytes") and held + size > self.limit("max_bytes")
        if is_full and (not replaces or self.size(mine[0]) < size):
            return MAX_BYTES
        return STORED

    def publish(self, subject, header, payload, now):
        name, _, value = header.decode().partition(": ")
        name = name.removeprefix("Nats-")
        block = b"NATS/1.0\r\n" + header + b"\r\n\r\n" if header else b""
        row = (self.last_seq + 1, subject, block, payload, now)
        most = self.limit("max_msg_size")
        if most and len(block) + len(payload) > most:
            return MESSAGE_TOO_LARGE, 0
        self.expire_ids(now)
        refusal = self.refusal(subject, name, value, row)
        if refusal is None:
            return STORED, self.ids[value][0]
        if refusal:
            return refusal, None
        self.rows.append(row)
        self.last_seq += 1
        if len(self.rows) == 1:
            self.first_seq = self.last_seq
        self.last_id = b""
        if name == "Msg-Id":
            self.ids[value] = (self.last_seq, now)
            self.last_id = value.encode()
        self.keep_limits_of_subjects()
        self.keep_limits()
        if name == "Rollup":
            self.drop((self.of(subject) if value == "sub" else self.rows)[:-1])
        return STORED, self.last_seq

    def expire_ids(self, now):
        window = self.limit("duplicate_window_ns")
        self.ids = {it: (seq, at) for it, (seq, at) in self.ids.items() if at >= now - window}

    def expire(self, now):
        self.expire_ids(now)
        age = self.limit("max_age_ns")
        self.drop([row for row in self.rows if age and row[4] <= now - age])

    def purge(self, pattern, seq, keep):
        wanted = pattern_regex(pattern or b">")
        rows = [row for row in self.rows if wanted.fullmatch(row[1].decode())]
        gone = [row for row in (rows[:-keep] if keep else rows) if not seq or row[0] < seq]
        self.drop(gone)
        if pattern in {b"", b">"} and not self.rows and not keep and seq != 1:
            self.last_seq = max(self.last_seq, seq - 1)
            self.first_seq = self.last_seq + 1
        return len(gone)

    def delete(self, seq):
        gone = [row for row in self.rows if row[0] == seq]
        self.drop(gone)
        return bool(gone)


def some(name, most):
    return st.fixed_dictionaries({}, optional={name: st.integers(1, most)})


LIMITS = st.builds(
    lambda *parts: {
        "duplicate_window_ns": 20,
        **{name: value for part in parts for name, value in part.items()},
    },
    some("max_msgs", 5),
    some("max_bytes", 150),
    some("max_msgs_per_subject", 3),
    some("max_age_ns", 40),
    some("discard_new", 1),
    some("discard_new_per_subject", 1),
    some("allow_rollup", 1),
    some("max_msg_size", 60),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("publish"),
            st.sampled_from(SUBJECTS),
            st.sampled_from(HEADERS),
            st.binary(max_size=40),
        ),
        st.tuples(
            st.just("purge"),
            st.sampled_from(PATTERNS),
            st.integers(0, 20),
            st.just(0),
        ),
        st.tuples(st.just("purge"), st.sampled_from(PATTERNS), st.just(0), st.integers(0, 4)),
        st.tuples(st.just("delete"), st.integers(0, 20)),
        st.tuples(st.just("expire")),
        st.tuples(st.just("limits"), LIMITS),
    ),
    max_size=60,
)


def stated(model):
    rows = model.rows
    subjects = {row[1] for row in rows}
    size = sum(map(model.size, rows))
    return len(rows), size, model.first_seq, model.last_seq, len(subjects)


def machine_limits(limits):
    return {"max_msg_size": -1, **limits}


@settings(max_examples=400, deadline=None)
@given(limits=LIMITS, steps=STEPS)
def test_machine_and_model_keep_the_same(limits, steps):
    machine, model = StreamMachine(b"S", machine_limits(limits)), Model(limits)

    for now, (what, *terms) in zip(count(1000, 7), steps, strict=False):
        if what == "publish":
            subject, header, payload = terms
            block = b"NATS/1.0\r\n" + header + b"\r\n\r\n" if header else b""
            refusal, _, seq, _ = machine.publish(subject, block, payload, now)
            expected, expected_seq = model.publish(subject, header, payload, now)
            assert expected == refusal
            if expected == STORED:
                assert expected_seq == seq
        elif what == "purge":
            assert model.purge(*terms) == machine.purge(*terms)
        elif what == "delete":
            assert model.delete(*terms) == machine.delete(*terms)
        elif what == "expire":
            model.expire(now)
            machine.expire(now)
        else:
            model.limits = terms[0]
            machine.set_limits(machine_limits(terms[0]), now)
            model.keep_limits()
            model.expire(now)
            model.keep_limits_of_subjects()

        assert stated(model) == machine.state()
        assert model.rows == machine.records()
        for subject in SUBJECTS:
            assert [row[0] for row in model.of(subject)] == machine.subject_seqs(subject)


@given(
    pattern=st.lists(st.sampled_from(["a", "bc", "*", "x*", ">x"]), min_size=1, max_size=4),
    is_open=st.booleans(),
    subject=st.lists(st.sampled_from(["a", "bc", "x*", ">x"]), min_size=1, max_size=5),
)
def test_patterns_match_as_a_regex_does(pattern, is_open, subject):
    pattern = [*pattern, ">"] if is_open else pattern
    name = ".".join(subject)

    expected = pattern_regex(".".join(pattern).encode()).fullmatch(name) is not None
    assert expected == matches(".".join(pattern).encode(), name.encode())


@pytest.mark.parametrize("keep_every", [1, 7, 100])
def test_what_lives_is_unharmed_when_its_neighbours_go(keep_every):
    machine = StreamMachine(b"S", machine_limits({}))
    for number in range(5_000):
        machine.publish(b"s.%d" % (number % 50), b"", b"%d" % number * 20, number)

    for seq in range(1, 5_001):
        if seq % keep_every:
            machine.delete(seq)

    kept = [seq for seq in range(1, 5_001) if seq % keep_every == 0]
    expected = [(seq, b"s.%d" % ((seq - 1) % 50), b"%d" % (seq - 1) * 20) for seq in kept]
    assert expected == [
        (seq, subject, payload) for seq, subject, _, payload, _ in machine.records()
    ]
