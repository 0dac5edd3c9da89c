"""All streams of an account together: what is kept of them equals what a look at each would say."""

from __future__ import annotations

import sys
from itertools import count

import msgspec
import pytest
from framework_jetstream.api.account_streams import AccountStreams
from framework_jetstream.api.errors import ApiFailure
from framework_jetstream.api.overlaps import do_overlap
from framework_jetstream.api.records import StreamConfig
from framework_jetstream.api.saved import Offline
from framework_jetstream.api.subject_tree import DEPTH_MAX, LEAF_MAX, SubjectTree
from framework_jetstream.config import JetStreamConfig
from framework_jetstream.meta.assignments import Asset, Group, StreamAssignment
from framework_jetstream.meta.state import MetaState
from framework_jetstream.stream.account_limits import check_server, check_stream
from framework_jetstream.stream.book import StreamBook, StreamEntry
from hypothesis import given
from hypothesis import strategies as st

from framework.spec import ALL_TIERS, JetStreamLimits

TOKENS = st.sampled_from([*"abcdefgh", "*"])
SUBJECTS = st.builds(
    lambda tokens, rest: ".".join([*tokens, *rest]),
    st.lists(TOKENS, min_size=1, max_size=4),
    st.sampled_from([[], [">"]]),
) | st.just(">")
DEEP = st.builds(
    lambda length, end: ".".join(["a"] * length + [end]),
    st.integers(DEPTH_MAX - 3, DEPTH_MAX + 3),
    st.sampled_from([*"abcdefgh*>"]),
)
ASKED = SUBJECTS | DEEP | st.sampled_from(["a..b", "", "a.>.b", "b."])
"""Those who ask for names may ask for what is no subject."""
MANY = st.lists(SUBJECTS | DEEP, max_size=5 * LEAF_MAX)
SHAPES = st.builds(
    lambda subjects, replicas, max_bytes, storage: StreamConfig(
        subjects=subjects, num_replicas=replicas, max_bytes=max_bytes, storage=storage
    ),
    st.none() | st.lists(SUBJECTS, max_size=3),
    st.integers(0, 3),
    st.integers(-1, 3),
    st.sampled_from(["file", "memory"]),
)


def overlapping(known, subject):
    return sorted(name for name, other in known.items() if do_overlap(subject, other))


@given(subjects=MANY, asked=st.lists(ASKED, max_size=5), data=st.data())
def test_a_tree_finds_the_subjects_that_overlap(subjects, asked, data):
    tree, known = SubjectTree(), {}
    for name, subject in enumerate(subjects):
        tree.add(subject, str(name))
        known[str(name)] = subject
    gone = data.draw(st.lists(st.sampled_from(sorted(known)), unique=True)) if known else []

    for names in ([], gone):
        for name in names:
            tree.remove(known.pop(name), name)
        for subject in asked:
            assert sorted(tree.overlapping(subject)) == overlapping(known, subject)


@given(subjects=MANY)
def test_a_tree_without_subjects_has_no_nodes(subjects):
    tree = SubjectTree()
    for name, subject in enumerate(subjects):
        tree.add(subject, str(name))
    for name, subject in enumerate(subjects):
        tree.remove(subject, str(name))

    assert tree._root == []


def refused(check):
    try:
        check()
    except ApiFailure as failure:
        return failure.error.err_code
    return None


def naive_overlap(known, name, wanted):
    return any(
        do_overlap(subject, other)
        for at, it in known.items()
        if at != name
        for other in it.subjects or ()
        for subject in wanted.subjects or ()
    )


@given(
    changes=st.lists(st.tuples(st.sampled_from("ABCDEF"), st.none() | SHAPES), max_size=20),
    name=st.sampled_from("ABCX"),
    wanted=SHAPES,
    subject=ASKED.filter(bool),
)
def test_what_is_kept_of_streams_is_what_they_say(changes, name, wanted, subject):
    book, known, numbers = StreamBook(), {}, count()
    for at, shape in changes:
        entry = book.get("APP", at)
        if shape is None:
            known.pop(at, None)
            if entry is not None:
                book.remove(entry)
            continue
        config = known[at] = msgspec.structs.replace(shape, name=at)
        if entry is not None:
            book.configure(entry, config)
        else:
            entry = StreamEntry(number=next(numbers), account="APP", config=config, created_ns=0)
            book.put(entry)
    wanted = msgspec.structs.replace(wanted, name=name)
    others = [it for at, it in known.items() if at != name]
    of_account, of_all = book.reserved_beside("APP", name)

    assert list(book.names("APP")) == sorted(known)
    assert [it.config for it in book.streams("APP")] == [known[it] for it in sorted(known)]
    assert list(book.names("APP", subject)) == sorted(
        at for at, it in known.items() if any(do_overlap(subject, own) for own in it.subjects or ())
    )
    assert bool(refused(lambda: book.check_subjects("APP", wanted))) == naive_overlap(
        known, name, wanted
    )
    for storage in ("file", "memory"):
        reserved = sum(it.max_bytes for it in others if it.storage == storage and it.max_bytes > 0)
        assert of_account.bytes_of(storage) == of_all.bytes_of(storage) == reserved
    assert sum(it.streams for it in of_account.all()) == len(others)
    assert bool(book.accounts()) == bool(known)


def test_a_stream_that_is_gone_may_still_be_configured():
    book = StreamBook()
    entry = StreamEntry(number=1, account="A", config=StreamConfig(name="S"), created_ns=0)
    book.put(entry)
    book.remove(entry)
    book.configure(entry, StreamConfig(name="S", subjects=["a"]))

    assert entry.config.subjects == ["a"]
    assert not book.names("A", "a")


def test_streams_that_are_not_served_keep_their_subjects():
    book = StreamBook()
    book.take_offline([Offline("A", StreamConfig(name="S", subjects=["a.*"]), "why", [1])])
    wanted = StreamConfig(name="T", subjects=["a.b"])

    assert refused(lambda: book.check_subjects("A", wanted)) == 10065
    assert refused(lambda: book.check_subjects("B", wanted)) is None
    book.forget_offline("A", "S")
    assert refused(lambda: book.check_subjects("A", wanted)) is None


def assigned(name, subject):
    config = StreamConfig(name=name, subjects=[subject], num_replicas=1, max_bytes=5)
    return StreamAssignment(
        account="A",
        name=name,
        created_ns=0,
        config=msgspec.json.encode(config),
        group=Group(name=name, peers=("p",)),
    )


def test_the_meta_state_follows_streams_of_accounts_that_are_asked_about():
    state = MetaState()
    state.put(Asset("A", "S"), assigned("S", "a.*"))

    assert state.account("A").holding("a.b") == ["S"]
    state.put(Asset("A", "S"), assigned("S", "b"))
    state.put(Asset("A", "T"), assigned("T", "c"))
    other = state.fork()
    other.drop(Asset("A", "T"))
    assert [state.account("A").holding(it) for it in ("a.b", "b", "c")] == [[], ["S"], ["T"]]
    assert state.account("A").reserved_without("S").bytes_of("file") == 5
    assert list(other.account("A").names) == ["S"]
    for name in "ST":
        state.drop(Asset("A", name))
    assert not state.account("A").names
    assert not state._kept


# -- work ------------------------------------------------------------------------------------------


def lines_of(call):
    """Return how many lines of Python a call runs."""
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def create_here(book, number, subject):
    """Do what a server does with a stream of its own."""
    config = StreamConfig(name=f"S{number}", subjects=[subject], num_replicas=1, max_bytes=10)
    others, everybody = book.reserved_beside("A", config.name)
    check_stream({ALL_TIERS: JetStreamLimits(max_storage=1 << 40)}, config, others, is_new=True)
    check_server(JetStreamConfig(max_file=1 << 40), config, everybody)
    book.check_subjects("A", config)
    book.put(StreamEntry(number=number, account="A", config=config, created_ns=0))


def create_shared(state, number, subject):
    """Do what a meta leader does with one."""
    found = assigned(f"S{number}", subject)
    kept = state.account("A")
    assert not kept.has_overlap(found.name, StreamConfig(subjects=[subject]))
    kept.reserved_without(found.name).bytes_of("file")
    state.put(found.asset, found)


@pytest.mark.parametrize("subject", ["x{}", "x{}.>", "orders.{}.*.new", "$KV.b{}.>"])
@pytest.mark.parametrize(
    ("make", "create"), [(StreamBook, create_here), (MetaState, create_shared)]
)
def test_a_stream_costs_the_same_however_many_there_are(make, create, subject):
    world, costs = make(), {}
    for number in range(4000):
        made = lambda number=number: create(world, number, subject.format(number))  # noqa: E731
        if number in {*range(190, 200), *range(3990, 4000)}:
            costs[number] = lines_of(made)
        else:
            made()
    few, many = (max(costs[it] for it in range(at, at + 10)) for at in (190, 3990))

    assert many <= 1.5 * few


def test_names_are_read_page_by_page_without_a_look_at_each():
    kept = AccountStreams()
    for number in range(4000):
        kept.put(f"S{number}", StreamConfig())

    assert lines_of(lambda: kept.names[2000:2100]) < 10
