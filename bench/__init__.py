"""Measurements beside the real servers."""

import os

# Servers start as users start them: not as forks of a process that has imported what they need.
os.environ.setdefault("FRAMEWORK_COLD_STARTS", "1")
