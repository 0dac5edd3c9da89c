"""Each script gives the answers of the real server: from ours, and still from the real one."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import pytest

from framework.testing import OURS
from framework.testing.scripts import (
    CLOSED,
    Replay,
    Step,
    read_script,
    server_config,
    write_script,
)

FOLDER = Path(__file__).parent
SCRIPTS = sorted((FOLDER / "scripts").glob("*.txt"))
REAL = "2.15.2"
REPEATED = "-ERR 'Invalid Publish Subject'"
"""The real server says so again for each piece that the publication comes in."""
ALLOWED = tomllib.loads((FOLDER / "differences.toml").read_text("utf-8"))
LATER = {entry["script"]: entry["reason"] for entry in ALLOWED["later"]}
EXPLAINED = {entry["text"] for entry in ALLOWED["explained"]}


def parameter(script: Path):
    later = LATER.get(script.stem)
    marks = [pytest.mark.xfail(reason=later, strict=True)] if later else []
    return pytest.param(script, id=script.stem, marks=marks)


def real_cases():
    for script in SCRIPTS:
        yield pytest.param(script, False, id=f"{script.stem}-whole")
        yield pytest.param(script, True, id=f"{script.stem}-bytes")


def allowed(script: Path, step: Step, ours: list[str]):
    """Return the answers that ours may give in place of these, or the real ones."""
    for entry in ALLOWED["difference"]:
        if (script.stem, step.command, list(step.sends)) == (
            entry["script"],
            entry["command"],
            entry["sends"],
        ):
            return entry["ours"]
    if ours[-1:] == [CLOSED] and set(ours[-2:-1]) & EXPLAINED:
        return [*step.answers[:-1], ours[-2], *step.answers[-1:]]
    return list(step.answers)


def replay(fleet, script: Path, kind: str, *, slowly: bool):
    steps = read_script(script)
    config = server_config(steps)
    server = fleet.start(kind=kind, config=config, clustered="cluster" in (config or ""))
    player = Replay(server.port, server.cluster_port, slowly=slowly)
    try:
        return steps, [player.play(step) for step in steps]
    finally:
        player.close()


@pytest.mark.parametrize("slowly", [False, True], ids=["whole", "bytes"])
@pytest.mark.parametrize("script", [parameter(script) for script in SCRIPTS])
def test_ours_answers_as_recorded(fleet, script, slowly):
    steps, answers = replay(fleet, script, OURS, slowly=slowly)
    differing = [
        (step.command, step.sends, step.answers, ours)
        for step, ours in zip(steps, answers, strict=True)
        if ours != list(step.answers) and ours != allowed(script, step, ours)
    ]

    assert differing == []


@pytest.mark.peer(REAL)
@pytest.mark.parametrize(("script", "slowly"), list(real_cases()))
def test_the_real_server_answers_as_recorded(fleet, script, slowly, request):
    steps, answers = replay(fleet, script, REAL, slowly=slowly)
    if request.config.getoption("--rewrite"):
        write_script(script, steps, answers)
        return

    expected = [list(step.answers) for step in steps]
    if slowly:  # in how many pieces the bytes arrive is the kernel's affair
        expected, answers = map(said_once, expected), map(said_once, answers)

    assert list(expected) == list(answers)


def said_once(answers):
    """Return the answers without what the real server only says again."""
    pairs = itertools.pairwise(["", *answers])
    return [line for before, line in pairs if not before == line == REPEATED]


@pytest.mark.parametrize("entry", ALLOWED["explained"], ids=lambda entry: entry["text"])
def test_the_real_server_closes_where_ours_says_why(fleet, kind, entry):
    server = fleet.start(kind=kind)
    with server.client() as client:
        client.expect(b"INFO")
        client.send(b'CONNECT {"headers":false}\r\n' + entry["sends"].encode() + b"\r\n")
        said = [it.line.decode() for it in client.read_to_end() if it.verb not in {b"INFO", b"+OK"}]

    assert said == ([entry["text"]] if kind == OURS else [])


def test_each_difference_has_a_place_and_a_reason():
    steps = {(p.stem, s.command, s.sends): list(s.answers) for p in SCRIPTS for s in read_script(p)}
    for entry in ALLOWED["difference"]:
        assert steps[entry["script"], entry["command"], tuple(entry["sends"])] == entry["real"]
        assert entry["real"] != entry["ours"]

    assert all(entry["reason"] for entries in ALLOWED.values() for entry in entries)
    assert set(LATER) <= {script.stem for script in SCRIPTS}
