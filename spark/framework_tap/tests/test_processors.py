"""Whether processors are to spare, by the lines in which Linux says what they did."""

from __future__ import annotations

import pytest
from framework_tap.processors import LOOK_NS, Processors


def stat(*, busy, idle, count=2):
    each = "".join(f"cpu{at} 0 0 0 0 0 0 0 0 0 0\n" for at in range(count))
    return f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n{each}intr 1 2 3\n"


@pytest.mark.parametrize(
    ("busy", "idle", "count", "are_short"),
    [(200, 0, 2, True), (130, 70, 2, True), (120, 80, 2, False), (1500, 80, 16, False)],
)
def test_what_was_idle_lately(busy, idle, count, are_short):
    said = [stat(busy=7000, idle=9000, count=count)]
    processors = Processors(lambda: said[-1])
    first = processors.are_short(0)
    said.append(stat(busy=7000 + busy, idle=9000 + idle, count=count))
    too_soon = processors.are_short(LOOK_NS - 1)

    assert (False, False, are_short) == (first, too_soon, processors.are_short(LOOK_NS))
    said.append(stat(busy=7000 + busy, idle=99000, count=count))
    assert not processors.are_short(2 * LOOK_NS)


@pytest.mark.parametrize("said", ["", "cpu 1 2\n"])
def test_where_it_is_not_known(said):
    processors = Processors(lambda: said)

    assert not processors.are_short(0)
    assert not processors.are_short(LOOK_NS)


def test_this_machine_says_it():
    assert Processors().are_short(0) is False
