"""What all tests share: examples are drawn at random, and never timed.

Machines that run tests are busy; a deadline of an example would measure them, not this code.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("untimed")
