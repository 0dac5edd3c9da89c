"""What fails by chance is shown, and lets the run pass; what fails again, or is proof, does not."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz import targets
from tests.fuzz.judging import Failure, passes
from tests.fuzz.targets import CompiledTarget, WorldTarget, work


class Played:
    """A target with given outcomes."""

    def __init__(self, name, *outcomes):
        self.name = name
        self.outcomes = list(outcomes)

    def run(self):
        return self.outcomes.pop(0)

    run_again = run


ODD = Failure("exit code 1")
MISUSE = Failure("ended by signal 6", is_proof=True)


@pytest.mark.parametrize("at_once", [1, 2])
def test_chance_passes_and_is_shown(capsys, at_once):
    assert passes([Played("mesh", None), Played("route", ODD, None)], at_once)
    shown = capsys.readouterr().out.splitlines()
    assert shown == [
        "route: passed alone",
        "flaky:",
        "test   how it failed",
        "route  exit code 1",
    ]


@pytest.mark.parametrize(
    "played",
    [
        [Played("s2", ODD, ODD)],
        [Played("s2", ODD, ODD), Played("mesh", ODD, None)],
        [Played("s2", MISUSE)],
        [Played(name, ODD, None) for name in "abcd"],
    ],
)
def test_what_is_no_chance_fails(played):
    assert not passes(played)


def test_all_well_shows_nothing(capsys):
    assert passes([Played("s2", None)])
    assert not capsys.readouterr().out


def test_the_world_that_failed_lives_again(monkeypatch):
    seeds = []
    monkeypatch.setattr(targets, "fuzz", lambda _, _seconds, seed: seeds.append(seed) or 7)
    target = WorldTarget("mesh", 1.0, 3)

    assert target.run() == target.run_again() == Failure("seed 7")
    assert seeds == [3, 7]


@pytest.fixture
def worker(monkeypatch, tmp_path):
    """Let `python -m tests.fuzz.worker` be a given script."""
    folder = tmp_path / "tree" / "tests" / "fuzz"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.setattr(targets, "FOLDER", tmp_path)
    monkeypatch.setattr(targets, "ROOT", tmp_path)
    return (folder / "worker.py").write_text


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        ("", None),
        ("raise SystemExit(1)", ODD),
        ("import os; os.abort()", MISUSE),
        ("input()", Failure("it has not ended after 0.5 s")),
    ],
)
def test_how_a_worker_fails(worker, script, failure):
    worker(script.replace("input()", "import threading; threading.Event().wait()"))

    assert work([], {}, 0.5 if script == "input()" else 30.0) == failure


def test_the_input_is_kept_and_played_again_before_all_of_it(worker, tmp_path):
    worker(
        "import sys; from pathlib import Path\n"
        "words = sys.argv\n"
        f"with open({str(tmp_path / 'calls')!r}, 'a') as file: print(words[2], file=file)\n"
        "if words[2] == '--replay': print(Path(words[3]).read_text())\n"
        "else: Path(words[words.index('--current') + 1]).write_text('bytes'); sys.exit(1)\n"
    )
    target = CompiledTarget("s2", 1.0, 3, {"PATH": sys.path[0]})

    assert target.run() == target.run_again() == ODD
    assert (tmp_path / "fuzz-failure.s2").read_text() == "bytes"
    assert (tmp_path / "calls").read_text().split() == ["--corpus", "--replay", "--corpus"]
