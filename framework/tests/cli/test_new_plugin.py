"""`framework new-plugin`: what it writes builds, loads, and passes its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from framework.cli import main

Capture = pytest.CaptureFixture[str]


def install(folder: Path, elsewhere: Path) -> dict[str, str]:
    """Let Python find a package as if it were installed; return the environment for that."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    ((name, module),) = project["entry-points"]["framework"].items()
    info = elsewhere / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[framework]\n{name} = {module}\n")
    root = Path(__file__).parents[3]
    paths = [str(path) for path in (folder / "src", elsewhere, root)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_a_new_plugin_passes_its_own_tests(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "mine"

    assert main(["new-plugin", "rate-limit", str(folder)]) == 0
    assert f"cd {folder}" in capsys.readouterr().out
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=install(folder, tmp_path / "site"),
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 passed" in done.stdout


def test_its_names_follow_from_the_one_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["new-plugin", "rate-limit"]) == 0
    project = tomllib.loads(Path("framework-rate-limit/pyproject.toml").read_text())["project"]
    assert project["name"] == "framework-rate-limit"
    assert project["entry-points"] == {"framework": {"rate_limit": "framework_rate_limit.plugin"}}
    files = {str(path) for path in Path("framework-rate-limit").rglob("*") if path.is_file()}
    assert "framework-rate-limit/src/framework_rate_limit/plugin.py" in files
    assert "framework-rate-limit/rate_limit.conf" in files
    assert not [file for file in files if "$" in Path(file).read_text() or "template" in file]


@pytest.mark.parametrize("name", ["Rate", "1st", "a--b", "-a", "a b", "class", "../x", ""])
def test_what_can_be_no_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, name: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["new-plugin", "--", name]) == 1
    assert "can't be the name of a plugin" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine").mkdir()

    assert main(["new-plugin", "rate-limit", str(tmp_path / "mine")]) == 1
    assert "is there already: name another folder" in capsys.readouterr().err
