"""The doors: `framework`, `nats-server`, `python -m framework`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from framework import __version__
from framework.cli import main, nats_server_main


@pytest.mark.parametrize("word", ["-v", "--version", "-version", "version"])
def test_nats_server_tells_the_version_that_tools_ask_for(
    capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert nats_server_main([word]) == 0
    assert capsys.readouterr().out == "nats-server: v2.15.2\n"


def test_serve_is_nats_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "-v"]) == 0
    assert capsys.readouterr().out == "nats-server: v2.15.2\n"


def test_framework_tells_its_own_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"framework {__version__}\n"


def test_optimised_python_is_refused() -> None:
    answer = subprocess.run(
        [sys.executable, "-O", "-m", "framework", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 1
    assert answer.stderr.startswith("framework: does not run under python -O")


def test_telling_the_version_loads_nothing_heavy() -> None:
    code = (
        "import sys; from framework.cli import nats_server_main; nats_server_main(['-v']);"
        "print(sorted({'asyncio', 'pluggy', 'rich', 'argparse', 'structlog'} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert answer.stdout == "nats-server: v2.15.2\n[]\n"


def test_a_reader_that_went_away_is_no_error() -> None:
    code = "import sys; from framework.cli import main; sys.exit(main(['--version']))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None

    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in {0, 1}
