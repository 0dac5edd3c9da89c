from __future__ import annotations

from framework.server.logging.log_limiter import LINES_MAX, WINDOW_NS, RepeatLimiter


def test_lines_beyond_the_bound_are_held_back_and_counted() -> None:
    limiter = RepeatLimiter()
    admitted = [limiter.admit("bad", now_ns) for now_ns in range(LINES_MAX + 7)]

    assert admitted == [0] * LINES_MAX + [-1] * 7
    assert limiter.admit("bad", WINDOW_NS) == 7
    assert limiter.admit("bad", WINDOW_NS + 1) == 0


def test_events_do_not_disturb_each_other() -> None:
    limiter = RepeatLimiter()
    for _ in range(LINES_MAX + 1):
        limiter.admit("bad", 0)

    assert limiter.admit("worse", 0) == 0


def test_a_clock_that_goes_back_begins_anew() -> None:
    limiter = RepeatLimiter()
    for _ in range(LINES_MAX + 1):
        limiter.admit("bad", 10)

    assert limiter.admit("bad", 0) == 1


def test_memory_is_bounded() -> None:
    limiter = RepeatLimiter()
    for number in range(5_000):
        limiter.admit(str(number), 0)

    assert len(limiter._windows) <= 1_000
