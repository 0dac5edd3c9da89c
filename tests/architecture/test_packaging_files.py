"""What is shipped for service managers and images names what is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "packaging" / "systemd").glob("*.service"))
PREFIX = "/opt/framework/bin/"


def test_there_are_units() -> None:
    assert [unit.name for unit in UNITS] == ["framework@.service", "nats-server.service"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    """With its program where this environment has it."""
    here = tmp_path / unit.name.replace("@.", "@east.")
    here.write_text(unit.read_text().replace(PREFIX, f"{Path(sys.executable).parent}/"))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(here)],
        check=False,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_unit_starts_a_command_of_ours(unit: Path) -> None:
    [command] = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    program, *words = command.removeprefix(PREFIX).split()

    assert command.startswith(PREFIX)
    assert (program, words[0]) in {("nats-server", "-c"), ("framework", "run")}
    assert (Path(sys.executable).parent / program).exists()


def test_the_unit_of_a_topology_has_a_folder_for_its_control_socket() -> None:
    """`framework reload` looks there, and a private `/tmp` hides every other place from it."""
    unit = (ROOT / "packaging" / "systemd" / "framework@.service").read_text()

    assert "\nRuntimeDirectory=framework/%i\nRuntimeDirectoryMode=0700\n" in unit


def test_the_image_is_made_of_files_that_are_there() -> None:
    text = (ROOT / "Dockerfile").read_text()
    named = re.findall(r"\b(?:tools|requirements)/[\w.]+", text)

    assert named == ["requirements/build.txt", "tools/wheels.py"]
    assert all((ROOT / name).exists() for name in named)
