"""Mixtures of our servers and real ones, as parameters of tests and fixtures."""

from __future__ import annotations

import pytest

from framework.testing import OURS


def parameters(mixtures):
    """Return kinds of servers as pytest takes them, by name or named by themselves."""
    if not isinstance(mixtures, dict):
        mixtures = {"-".join(kinds): kinds for kinds in mixtures}
    return [
        pytest.param(kinds, marks=[pytest.mark.peer(*real)] if real else [], id=name)
        for name, kinds in mixtures.items()
        for real in [sorted({*kinds} - {OURS})]
    ]
