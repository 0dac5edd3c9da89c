from __future__ import annotations

import pytest

from framework.server.clients.expirations import Expirations


@pytest.fixture
def wheel() -> Expirations:
    it = Expirations()
    assert it.turn(100.0) == []
    return it


def test_links_end_in_the_order_of_their_times(wheel: Expirations) -> None:
    wheel.set(1, 103)
    wheel.set(2, 101)
    wheel.set(3, 500_000)

    assert wheel.turn(100.9) == []
    assert wheel.turn(101.0) == [2]
    assert wheel.turn(499_999.9) == [1]
    assert len(wheel) == 1
    assert wheel.turn(500_000.0) == [3]
    assert len(wheel) == 0


def test_a_part_of_a_second_is_rounded_up(wheel: Expirations) -> None:
    wheel.set(1, 100.2)

    assert wheel.turn(100.9) == []
    assert wheel.turn(101.0) == [1]


def test_what_is_over_already_ends_at_the_next_turn(wheel: Expirations) -> None:
    wheel.set(1, 7.0)

    assert wheel.turn(101.0) == [1]


def test_a_link_has_one_time_or_none(wheel: Expirations) -> None:
    wheel.set(1, 101)
    wheel.set(1, 103)
    wheel.set(2, 101)
    wheel.set(2, 0)
    wheel.discard(9)

    assert wheel.turn(102.0) == []
    assert wheel.turn(103.0) == [1]


def test_a_clock_that_is_set_back_ends_nothing_early(wheel: Expirations) -> None:
    wheel.set(1, 102)

    assert wheel.turn(50.0) == []
    assert wheel.turn(101.0) == []
    assert wheel.turn(102.0) == [1]
