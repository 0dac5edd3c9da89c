"""`./dev` where it can't do its work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

WITHOUT_PRIVILEGES = """
import os, sys
os.getuid() or os.setuid(65534)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that anybody may read and only its owner may write to."""
    folder = Path(tempfile.mkdtemp())  # the folders of `tmp_path` are their owner's alone
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "dev", folder)
    shutil.copy(ROOT / "tools" / "workspace.py", folder / "tools")
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_may_not_be_written_to_is_one_line(folder: Path) -> None:
    words = [sys.executable, "-c", WITHOUT_PRIVILEGES, str(folder / "dev"), "framework", "-v"]
    answer = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd="/", env={"PATH": os.defpath}
    )

    assert answer.returncode == 1
    [line] = answer.stderr.splitlines()
    assert line.startswith(f"dev: {folder}/")
    assert "permission denied" in line or "read-only" in line
