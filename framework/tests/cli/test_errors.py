"""What the user sees when a command cannot do its work."""

from __future__ import annotations

import errno

import pytest

from framework.cli.errors import EXIT_BUG, EXIT_REFUSED, CommandError, guarded
from framework.supervise import machine


def raising(error: BaseException) -> int:
    def command() -> int:
        raise error

    return guarded("prog", command)


@pytest.mark.parametrize(
    ("error", "exit_status", "text"),
    [
        (CommandError("no way", "take another"), 1, "prog: no way: take another\n"),
        (CommandError("one\ntwo"), 1, "prog: one\nprog: two\n"),
        (
            OSError(errno.EACCES, "Permission denied", "a.log"),
            1,
            "prog: a.log: permission denied\n",
        ),
        (OSError(errno.ENOSPC, "No space left"), 1, "prog: no space left\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_the_world_gets_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    exit_status: int,
    text: str,
) -> None:
    monkeypatch.delenv("FRAMEWORK_DEBUG", raising=False)

    assert raising(error) == exit_status
    assert capsys.readouterr().err == text


def test_a_bug_gets_one_line_too_and_another_exit_status(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert raising(ZeroDivisionError("by zero")) == EXIT_BUG

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("prog: internal error: ZeroDivisionError: by zero; ")


def test_a_traceback_comes_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMEWORK_DEBUG", "1")
    raising(CommandError("no way"))

    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert error.endswith("prog: no way\n")


def test_the_supervisor_knows_a_refusal_by_the_same_number() -> None:
    assert machine.EXIT_REFUSED == EXIT_REFUSED
