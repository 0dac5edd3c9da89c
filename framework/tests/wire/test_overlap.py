from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from framework.wire.overlap import overlaps

TOKENS = ["a", "b"]
LITERALS = [".".join(it) for count in (1, 2, 3, 4) for it in product(TOKENS, repeat=count)]


def matches(literal: str, subject: str) -> bool:
    """Tell by brute force whether a subject reaches a literal one."""
    tokens, wanted = literal.split("."), subject.split(".")
    if wanted[-1] == ">":
        return len(tokens) >= len(wanted) and all(
            it in {token, "*"} for it, token in zip(wanted[:-1], tokens, strict=False)
        )
    return len(tokens) == len(wanted) and all(
        it in {token, "*"} for it, token in zip(wanted, tokens, strict=True)
    )


subjects = st.lists(st.sampled_from([*TOKENS, "*"]), min_size=1, max_size=3).flatmap(
    lambda head: st.sampled_from([".".join(head), ".".join([*head[:-1], ">"])])
)


@given(subjects, subjects)
def test_overlap_is_a_literal_that_both_match(one: str, other: str) -> None:
    expected = any(matches(it, one) and matches(it, other) for it in LITERALS)

    assert overlaps(one.encode(), other.encode()) == expected
    assert overlaps(other.encode(), one.encode()) == expected
