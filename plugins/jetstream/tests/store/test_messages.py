"""Messages by sequence and by subject, beside a dict; and the memory that they take."""

from __future__ import annotations

import random

import pytest
from framework_jetstream.stream._streamhandle import StreamMachine, matches

MESSAGES = 50_000
BODY = 128
SUBJECT = b"orders.%08d"


class Model:
    """Messages as a dict by sequence."""

    def __init__(self, most_of_a_subject):
        self.most = most_of_a_subject
        self.rows = {}
        self.last_seq = 0

    def of(self, subject):
        return [seq for seq, row in self.rows.items() if row[0] == subject]

    def publish(self, subject, header, payload):
        self.last_seq += 1
        self.rows[self.last_seq] = (subject, header, payload)
        if self.most:
            for seq in self.of(subject)[: -self.most]:
                del self.rows[seq]

    def ends(self, subject):
        seqs = self.of(subject)
        return (len(seqs), seqs[0], seqs[-1]) if seqs else (0, 0, 0)


def work(rng, machine, model, *, subjects, lengths, deletes):
    for _ in range(rng.randint(50, 400)):
        chance = rng.random()
        if model.rows and chance < deletes:
            seq = rng.choice([*model.rows, rng.randint(1, model.last_seq)])
            assert machine.delete(seq) == (model.rows.pop(seq, None) is not None)
        elif chance < deletes + 0.002:
            subject = rng.choice(subjects)
            machine.purge(subject, 0, 1)
            for seq in model.of(subject)[:-1]:
                del model.rows[seq]
        else:
            header = rng.choice((b"", b"", b"NATS/1.0\r\nA: b\r\n\r\n"))
            row = rng.choice(subjects), header, rng.randbytes(rng.choice(lengths))
            machine.publish(*row, 7)
            model.publish(*row)


def check(rng, machine, model, subjects):
    rows = [(seq, *row, 7) for seq, row in model.rows.items()]
    assert machine.records() == rows
    pattern, begin = rng.choice((b">", b"s.*", b"s.1", b"t.*")), rng.randint(0, model.last_seq + 1)
    assert machine.count(pattern, begin) == sum(
        seq >= begin and matches(pattern, row[0]) for seq, row in model.rows.items()
    )
    for subject in rng.sample(subjects, min(len(subjects), 4)):
        assert machine.subject_ends(subject) == model.ends(subject)
        assert machine.subject_seqs(subject) == model.of(subject)
    first = rows[0][0] if rows else model.last_seq + 1
    names = {row[0] for row in model.rows.values()}
    assert machine.state()[0] == len(rows)
    assert machine.state()[2:] == (first, model.last_seq, len(names))


@pytest.mark.parametrize("seed", range(24))
def test_messages_are_those_of_a_dict(seed):
    rng = random.Random(seed)
    most = rng.choice((0, 0, 1, 2, 5))
    machine, model = StreamMachine(b"S", {"max_msgs_per_subject": most}), Model(most)
    subjects = [b"s.%d" % number for number in range(rng.choice((1, 3, 40, 300)))]
    lengths = rng.choice(((0, 5, 30), (0, 200, 3000), (10, 20_000, 70_000)))
    for _ in range(12):
        deletes = rng.choice((0, 0.2, 0.5, 0.9))
        if rng.random() < 0.1:
            most = model.most = rng.choice((0, 1, 3))
            machine.set_limits({"max_msgs_per_subject": most}, 7)
            for subject in subjects if most else ():
                for seq in model.of(subject)[:-most]:
                    del model.rows[seq]
        work(rng, machine, model, subjects=subjects, lengths=lengths, deletes=deletes)
        check(rng, machine, model, subjects)


def filled(subject_of, limits=None):
    machine = StreamMachine(b"S", limits or {})
    for number in range(MESSAGES):
        machine.publish(subject_of(number), b"", bytes(BODY), number)
    return machine


def test_a_message_costs_eight_bytes_of_index():
    """Beside its bytes and its time; a block may not be full when the next message does not fit."""
    machine = filled(lambda _: SUBJECT % 1)

    assert machine.memory() / MESSAGES <= (BODY + 8 + 8) * 1.01


def test_a_subject_costs_a_hundred_bytes_and_its_text():
    few = filled(lambda _: SUBJECT % 1).memory()
    many = filled(lambda number: SUBJECT % number).memory()

    assert (many - few) / (MESSAGES - 1) <= 100 + len(SUBJECT % 1)


def test_the_way_to_the_next_of_a_subject_costs_four_bytes_where_subjects_keep_several():
    plain = filled(lambda number: SUBJECT % (number // 4))
    kept = filled(lambda number: SUBJECT % (number // 4), {"max_msgs_per_subject": 5})

    assert kept.memory() - plain.memory() <= MESSAGES * 4 * 1.05


def test_what_is_left_of_many_messages_costs_little():
    machine = filled(lambda number: SUBJECT % (number % 3))
    for seq in range(1, MESSAGES + 1):
        if seq % 100:
            machine.delete(seq)

    left = machine.state()[0]
    assert left == MESSAGES // 100
    # A block is packed when three quarters of it are gone, and two are joined up to a block's size.
    assert machine.memory() <= left * (BODY + 8 + 12) * 4 + 2 * 65536


def test_nothing_is_kept_of_what_is_gone():
    machine = filled(lambda number: SUBJECT % number, {"max_msgs_per_subject": 2})
    machine.purge(b"", 0, 0)

    assert machine.state() == (0, 0, MESSAGES + 1, MESSAGES, 0)
    # The table of subjects does not shrink: it is what the stream had at its largest.
    assert machine.memory() <= 65536 * 2 + MESSAGES * (19 + 9)


@pytest.mark.parametrize("seed", range(24))
def test_all_but_bytes_stays_when_they_leave_memory(seed):
    rng = random.Random(seed)
    most = rng.choice((0, 0, 2))
    limits = {"max_msgs_per_subject": most}
    machine, whole = StreamMachine(b"S", limits), StreamMachine(b"S", limits)
    lengths, step = rng.choice(((0, 30), (200, 3000))), rng.choice((0, 1, 10**9))
    now = absent = 0
    for _ in range(6):
        for _ in range(rng.randint(10, 600)):
            now += rng.choice((0, step))
            row = b"s.%d" % rng.randint(0, 40), rng.choice((b"", b"NATS/1.0\r\nA: b\r\n\r\n"))
            payload = bytes(rng.choice(lengths))
            for it in (machine, whole):
                it.publish(*row, payload, now)
        absent = max(absent, machine.let_go(rng.choice((0, machine.state()[3] // 2))))
        for _ in range(rng.choice((0, 5, 400))):
            seq = rng.randint(1, machine.state()[3])
            assert machine.delete(seq) == whole.delete(seq)

        assert machine.entries() == whole.entries()
        assert machine.state() == whole.state()
        assert machine.count(b"s.*", 1) == whole.count(b"s.*", 1)
        for time_ns in (0, rng.randint(0, now + 1), now):
            assert machine.seq_from(time_ns) == whole.seq_from(time_ns)
        machine.set_limits({"max_age_ns": now // 2 or 1, **limits}, now)
        whole.set_limits({"max_age_ns": now // 2 or 1, **limits}, now)
    assert absent or most


@pytest.mark.parametrize(("apart", "bytes_max"), [(0, 8.1), (300_000, 13)])
def test_a_message_that_is_in_a_segment_alone_costs_its_index(apart, bytes_max):
    """And five bytes where each has a time of its own; the block that is being filled stays."""
    machine = StreamMachine(b"S", {})
    for number in range(MESSAGES):
        machine.publish(SUBJECT % 1, b"", bytes(BODY), number * apart)
    machine.let_go()

    assert (machine.memory() - 65536 - 200) / MESSAGES <= bytes_max + 0.5
