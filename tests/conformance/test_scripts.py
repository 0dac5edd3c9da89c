"""Each script gives the answers of the real server: from ours, and still from the real one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from framework.testing import OURS
from framework.testing.scripts import Replay, read_script, server_config, write_script

FOLDER = Path(__file__).parent
SCRIPTS = sorted((FOLDER / "scripts").glob("*.txt"))
REAL = "2.15.2"
REAL_VARIES = {"pedantic": "complains twice about one subject when the line comes in pieces"}
"""Scripts that the real server answers differently byte by byte."""
DIFFERENCES = tomllib.loads((FOLDER / "differences.toml").read_text("utf-8"))["difference"]


def replay(fleet, script: Path, kind: str, *, slowly: bool):
    steps = read_script(script)
    server = fleet.start(kind=kind, config=server_config(steps))
    player = Replay(server.port, slowly=slowly)
    try:
        return steps, [player.play(step) for step in steps]
    finally:
        player.close()


@pytest.mark.parametrize("slowly", [False, True], ids=["whole", "bytes"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_ours_answers_as_recorded(fleet, script, slowly):
    allowed = [entry for entry in DIFFERENCES if entry["script"] == script.stem]
    steps, answers = replay(fleet, script, OURS, slowly=slowly)
    for step, ours in zip(steps, answers, strict=True):
        entry = {"real": list(step.answers), "ours": ours}
        known = [
            d for d in allowed if d["command"] == step.command and d["sends"] == list(step.sends)
        ]
        expected = known[0]["ours"] if known else entry["real"]

        assert expected == ours, f"{step.command}: {step.sends}"


@pytest.mark.peer(REAL)
@pytest.mark.parametrize("slowly", [False, True], ids=["whole", "bytes"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_real_server_answers_as_recorded(fleet, script, slowly, request):
    if slowly and script.stem in REAL_VARIES:
        pytest.skip(REAL_VARIES[script.stem])
    steps, answers = replay(fleet, script, REAL, slowly=slowly)
    if request.config.getoption("--rewrite"):
        write_script(script, steps, answers)
        return

    assert [list(step.answers) for step in steps] == answers


def test_each_difference_has_a_place_and_a_reason():
    steps = {(p.stem, s.command, s.sends): list(s.answers) for p in SCRIPTS for s in read_script(p)}
    for entry in DIFFERENCES:
        assert entry["reason"]
        assert steps[entry["script"], entry["command"], tuple(entry["sends"])] == entry["real"]
        assert entry["real"] != entry["ours"]
