"""CPU and memory of this process."""

from __future__ import annotations

import os
import resource
import time
from typing import Final

from framework.monitor import ProcessUsage

_SAMPLE_S_MIN: Final = 1.0
_PERCENT: Final = 100.0


class UsageMeter:
    """Measure CPU time between questions that are at least a second apart."""

    def __init__(self) -> None:
        self._sampled_s = time.perf_counter()
        self._cpu_s = time.process_time()
        self._percent = 0.0

    def measure(self) -> ProcessUsage:
        """Return the usage now; CPU since the last sample."""
        now_s, cpu_s = time.perf_counter(), time.process_time()
        passed_s = now_s - self._sampled_s
        if passed_s >= _SAMPLE_S_MIN:
            self._percent = _PERCENT * (cpu_s - self._cpu_s) / passed_s
            self._sampled_s, self._cpu_s = now_s, cpu_s
        return ProcessUsage(self._percent, _resident_bytes(), os.cpu_count() or 1)


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - read on each request
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        # Elsewhere than on Linux the peak has to do.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
