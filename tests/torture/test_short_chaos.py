"""A short run of `python -m tests.torture.chaos`."""

from __future__ import annotations

import pytest

from framework.testing import OURS
from tests.torture.chaos import run

SEED = 1
FOR_S = 8.0


@pytest.mark.interop
@pytest.mark.timeout(240)
def test_nothing_is_lost_while_streams_are_changed_and_servers_killed():
    found = run(OURS, "kills", SEED, FOR_S)

    assert [it for it in found if not it.is_good] == []
    assert all(it.history.acknowledged for it in found)
