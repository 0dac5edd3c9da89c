"""Entry points: `framework`, `nats-server`, `python -m framework`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import framework.__main__ as main_module
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


def test_what_was_registered_for_the_end_is_called(tmp_path: Path) -> None:
    plugin = tmp_path / "last_words.py"
    plugin.write_text("import atexit, sys\natexit.register(lambda: print('last words'))\n")
    answer = framework("plugins", "--plugin", str(plugin))

    assert answer.returncode == 0
    assert answer.stdout.endswith("last words\n")


def test_a_thread_that_is_to_be_waited_for_is_waited_for(tmp_path: Path) -> None:
    plugin = tmp_path / "busy.py"
    plugin.write_text(
        "import threading\nmain = threading.main_thread()\n"
        "threading.Thread(target=lambda: (main.join(), print('done', flush=True))).start()\n"
    )
    answer = framework("plugins", "--plugin", str(plugin))

    assert answer.returncode == 0
    assert answer.stdout.endswith("done\n")


@pytest.mark.parametrize("name", ["SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_signals_are_held_before_anything_is_imported(name: str) -> None:
    code = (
        "import sys, signal, os; sys.argv = ['framework', 'serve', '-v'];"
        "import framework.__main__ as it; it.hold_signals();"
        f"os.kill(os.getpid(), signal.{name}); it.main()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout == "nats-server: v2.15.2\n"


def test_next_to_nothing_is_imported_before_signals_are_held() -> None:
    """Python shows a traceback when it is interrupted before; 20 ms were a time that users hit."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(main_module.__file__).parents[1])!r});"
        "before = {*sys.modules}; import framework.__main__;"
        "print(*sorted({*sys.modules} - before))"
    )
    answer = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )

    assert not {"socket", "threading", "typing", "signal", "re"} & {*answer.stdout.split()}


def test_an_interrupt_of_the_first_moment_leaves_no_traceback(tmp_path: Path) -> None:
    """A plugin stands for whatever takes its time while a topology is read."""
    plugin = tmp_path / "slow.py"
    plugin.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    file = tmp_path / "t.toml"
    file.write_text(f"plugins = [{str(plugin)!r}]\n[clusters.a]\nport = -1\n")
    answer = framework("run", str(file))

    assert (answer.returncode, answer.stdout, answer.stderr) == (-signal.SIGINT, "", "")


def framework(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "framework", *words], capture_output=True, text=True, check=False
    )
