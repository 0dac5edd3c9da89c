"""A service that is down is not asked for a while: so a dead one does not hold every login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_auth_http.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable


class Circuit:
    """After some failures in a row nobody asks for a while, then one may try."""

    def __init__(
        self,
        *,
        failures_max: int,
        pause_s: float,
        now_s: Callable[[], float],
        report: Callable[[str], None],
    ) -> None:
        self._failures_max = failures_max
        self._pause_s = pause_s
        self._now_s = now_s
        self._report = report
        self._failures_count = 0
        self._opens_s = 0.0

    def begin(self) -> None:
        """Raises ServiceError: nobody may ask now."""
        if self._failures_count < self._failures_max:
            return
        if self._now_s() < self._opens_s:
            raise ServiceError("it was down a moment ago")
        # Who asks now tries for all others.
        self._opens_s = self._now_s() + self._pause_s

    def succeeded(self) -> None:
        if self._failures_count >= self._failures_max:
            self._report("The login service is back")
        self._failures_count = 0

    def failed(self, problem: str) -> None:
        self._failures_count += 1
        self._opens_s = self._now_s() + self._pause_s
        if self._failures_count == self._failures_max:
            self._report(f"The login service is down, it is left alone for a while: {problem}")
        elif self._failures_count == 1:
            self._report(f"The login service did not decide: {problem}")
