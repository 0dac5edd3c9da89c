from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from framework.testing.strategies import broken_subjects, cuts, literals, payloads, subjects
from framework.wire.subject import is_literal, is_valid_subject


@given(literals())
def test_literals_are_literal(subject):
    assert is_literal(subject)


@given(subjects(3))
def test_subjects_are_valid_and_short(subject):
    assert is_valid_subject(subject)
    assert subject.count(".") < 3


@given(broken_subjects())
def test_broken_subjects_are_not_valid(subject):
    assert not is_valid_subject(subject)


@given(payloads(50).flatmap(lambda data: st.tuples(st.just(data), cuts(data))))
def test_pieces_make_the_whole(drawn):
    data, pieces = drawn

    assert data == b"".join(pieces)
    assert all(pieces)
