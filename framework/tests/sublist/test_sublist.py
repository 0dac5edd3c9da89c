"""The sublist against a list of regular expressions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from framework.sublist import Sublist

TOKENS = st.sampled_from([b"a", b"b", b"cc", b"", b"*", b">"])
LITERAL_TOKENS = st.sampled_from([b"a", b"b", b"cc"])
SUBJECTS = st.lists(LITERAL_TOKENS, min_size=1, max_size=4).map(b".".join)
PATTERNS = st.one_of(
    st.lists(st.sampled_from([b"a", b"b", b"cc", b"*", b"a*", b">a"]), min_size=1, max_size=4),
    st.lists(st.sampled_from([b"a", b"b", b"*"]), max_size=3).map(lambda tokens: [*tokens, b">"]),
).map(b".".join)


def _regex(pattern: bytes) -> re.Pattern[bytes]:
    tokens = pattern.split(b".")
    parts = [b"[^.]+" if token == b"*" else re.escape(token) for token in tokens]
    if tokens[-1] == b">":
        parts[-1] = rb".+"
    return re.compile(rb"\.".join(parts) + rb"\Z")


class Model:
    """What the sublist must answer, the slow way."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[re.Pattern[bytes], object, bytes, bool]] = {}

    def match(self, subject: bytes) -> tuple[list[object], list[object], dict[bytes, list[object]]]:
        plain: list[object] = []
        remotes: set[object] = set()
        queues: dict[bytes, list[object]] = {}
        if b"" in subject.split(b"."):
            return [], [], {}
        for pattern, value, queue, remote in self.rows.values():
            if not pattern.match(subject):
                continue
            if queue:
                queues.setdefault(queue, []).append(value)
            elif remote:
                remotes.add(value)
            else:
                plain.append(value)
        return sorted(plain), sorted(remotes), {q: sorted(v) for q, v in queues.items()}  # type: ignore[type-var]


class SublistAgainstModel(RuleBasedStateMachine):
    """Insert, remove and match in any order; with a cache so small that it must forget."""

    def __init__(self) -> None:
        super().__init__()
        self.sublist = Sublist(cache_max=3)
        self.model = Model()
        self.next_value = 0

    @rule(
        pattern=PATTERNS,
        queue=st.sampled_from([b"", b"", b"q1", b"q2"]),
        remote=st.booleans(),
        owner=st.integers(0, 3),
    )
    def insert(self, pattern, queue, remote, owner):
        self.next_value += 1
        value = f"remote {owner}" if remote else f"local {self.next_value}"
        token = self.sublist.insert(pattern, value, queue=queue, remote=remote)
        self.model.rows[token] = (_regex(pattern), value, queue, remote)

    @rule(data=st.data())
    def remove(self, data):
        if self.model.rows:
            token = data.draw(st.sampled_from(sorted(self.model.rows)))
            self.sublist.remove(token)
            del self.model.rows[token]

    @rule(subject=SUBJECTS | st.lists(TOKENS, max_size=4).map(b".".join))
    def match(self, subject):
        found = self.sublist.match(subject)

        plain, remotes, queues = self.model.match(subject)
        if not re.search(rb"(^|\.)[*>](\.|$)", subject):
            assert plain == sorted(found.psubs)
            assert queues == {queue: sorted(members) for queue, members in found.qsubs.items()}
            assert [r.split()[1] for r in remotes] == sorted({v.split()[1] for v in found.remotes})

    @rule(data=st.data(), begin=SUBJECTS, ends=st.integers(0, 3))
    def match_what_is_new(self, data, begin, ends):
        """Subjects that nobody has asked for, with a beginning that others have."""
        self.match(begin)
        for _ in range(ends):
            end = data.draw(st.integers(0, 1 << 40).map(lambda it: b"%d" % it) | TOKENS)
            self.match(begin + b"." + end)

    @invariant()
    def counts(self):
        assert len(self.model.rows) == len(self.sublist)


TestSublistAgainstModel = SublistAgainstModel.TestCase


@pytest.mark.parametrize(
    "comes", [b"x.y.z.3", b"x.y.*.3", b"x.y.z.*", b"x.>", b"*.y.>", b">", b"x.*.z.3", b"x.y.z.3.>"]
)
def test_subjects_that_are_used_once_reach_what_comes(comes: bytes) -> None:
    sublist = Sublist()
    sublist.insert(b"x.y.>", "first")
    assert [sublist.match(b"x.y.z.%d" % number).psubs for number in (1, 2)] == [["first"]] * 2

    token = sublist.insert(comes, "second")
    wanted = ["first", "second"] if _regex(comes).match(b"x.y.z.3") else ["first"]
    assert sorted(sublist.match(b"x.y.z.3").psubs) == wanted
    assert sublist.match(b"x.y.z.4").psubs.count("first") == 1
    sublist.remove(token)
    assert [sublist.match(b"x.y.z.%d" % number).psubs for number in (3, 5)] == [["first"]] * 2
    assert sublist.match(b"x.y..6").psubs == []
    assert sublist.match(b"x.y").psubs == []


def test_one_token_is_not_beginning_enough() -> None:
    """What comes below another second token makes only matches of that one stale."""
    sublist = Sublist()
    sublist.insert(b"x.>", "first")
    for second in range(32):
        assert sublist.match(b"x.%d.once" % second).psubs == ["first"]
        sublist.insert(b"x.%d.*" % (second + 100), second)
        assert len(sublist.match(b"x.%d.once" % (second + 100)).psubs) == 2


def test_a_remote_counts_once_however_many_interests_it_has() -> None:
    remote = object()
    sublist = Sublist()
    for pattern in (b"a.b", b"a.*", b"a.>"):
        sublist.insert(pattern, remote, remote=True)

    assert [remote] == sublist.match(b"a.b").remotes


def test_members_of_this_server_come_first() -> None:
    sublist = Sublist()
    sublist.insert(b"a", "there", queue=b"q", remote=True, weight=3)
    sublist.insert(b"*", "here", queue=b"q")

    assert {b"q": ["here", "there"]} == sublist.match(b"a").qsubs


@pytest.mark.parametrize("subject", [b"", b".", b"a.", b".a", b"a..b"])
def test_a_subject_with_an_empty_token_reaches_nobody(subject: bytes) -> None:
    sublist = Sublist()
    for pattern in (b">", b"*", b"*.>", b"a.>", b"a.*.b"):
        sublist.insert(pattern, pattern)

    assert [] == sublist.match(subject).psubs


def test_the_second_question_is_remembered_and_the_third_is_a_hit() -> None:
    sublist = Sublist()
    sublist.insert(b"a.b", 1)
    hits = []
    for _ in range(3):
        sublist.match(b"a.b")
        hits.append(sublist.cache_hits)

    assert [0, 0, 1] == hits


@given(st.sampled_from([b"a.c", b"b", b"c.>", b"*.a.b", b"a.c.*"]))
def test_a_change_elsewhere_leaves_a_remembered_match_alone(pattern: bytes) -> None:
    sublist = Sublist()
    sublist.insert(b"a.b", 1)
    for _ in range(3):
        sublist.match(b"a.b")
    before = sublist.cache_hits
    if pattern != b"*.a.b":
        sublist.insert(pattern, 2)
    sublist.match(b"a.b")

    assert before + 1 == sublist.cache_hits


def test_many_subjects_pass_through_a_small_cache() -> None:
    sublist = Sublist(cache_max=8)
    sublist.insert(b"s.*", "all")
    for number in range(200):
        sublist.insert(b"s.%d" % number, number)
    found = [sublist.match(b"s.%d" % (number % 200)).psubs for number in range(1000)]

    assert all({"all", number % 200} == set(values) for number, values in enumerate(found))


def test_removing_what_is_not_there_is_an_error() -> None:
    sublist = Sublist()
    token = sublist.insert(b"a", 1)
    sublist.remove(token)
    with pytest.raises(KeyError):
        sublist.remove(token)


def test_long_tokens_and_deep_subjects() -> None:
    token = b"t" * 1000
    sublist = Sublist()
    sublist.insert(token + b".*", "long")
    sublist.insert(b".".join([b"*"] * 500), "deep")

    assert ["long"] == sublist.match(token + b".x").psubs
    assert ["deep"] == sublist.match(b".".join([b"x"] * 500)).psubs
