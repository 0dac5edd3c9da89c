"""What all tests share: examples are drawn at random, and never timed.

Machines that run tests are busy; a deadline of an example would measure them, not this code.
"""

from __future__ import annotations

import gc
from pathlib import Path

from hypothesis import HealthCheck, settings

settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("untimed")

_DESCRIPTORS = Path("/proc/self/fd")
_MANY = 256


def pytest_runtest_teardown() -> None:
    """Collect garbage that holds descriptors, before there are too many.

    Simulated servers leave some in cycles; Python looks at these seldom where there is much else.
    """
    if _DESCRIPTORS.exists() and sum(1 for _ in _DESCRIPTORS.iterdir()) > _MANY:
        gc.collect()
