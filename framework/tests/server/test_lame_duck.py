from __future__ import annotations

import pytest

from framework.server.lame_duck import Pace, pace_of_closing


@pytest.mark.parametrize(
    ("client_count", "time_s", "expected"),
    [
        (1, 110.0, Pace(1.0, 1)),
        (1_000, 100.0, Pace(0.1, 1)),
        (10_000, 100.0, Pace(0.01, 1)),
        (50_000, 100.0, Pace(0.01, 5)),
        (100_000, 0.0, Pace(0.01, 1_000)),
    ],
)
def test_pace(client_count: int, time_s: float, expected: Pace) -> None:
    assert pace_of_closing(client_count, time_s) == expected
