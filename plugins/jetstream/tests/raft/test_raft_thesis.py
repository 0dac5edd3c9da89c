"""What Ongaro's thesis says, section by section: commands and answers in `thesis.txt`.

To write the answers anew, and then read the difference: `python raft_script.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from raft_script import played, sections


@pytest.mark.parametrize("title", sections())
def test_section(title: str) -> None:
    lines = sections()[title]

    assert lines == played(lines)
