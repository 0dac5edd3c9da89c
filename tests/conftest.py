"""What all suites that cross packages share."""

from __future__ import annotations

import pytest

from framework.testing import OURS

CURRENT = "2.15.2"


@pytest.fixture(params=[OURS, pytest.param(CURRENT, marks=pytest.mark.peer(CURRENT))])
def kind(request):
    """Run a test against ours, and against the real server: that proves the test."""
    return request.param
