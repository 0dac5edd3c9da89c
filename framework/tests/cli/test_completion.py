"""Completion and the manual page, judged by the shells and by troff."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from framework.cli.main import main
from framework.topology import Schema
from framework.topology.flags import known_flags

FLAGS = [name for flag in known_flags(Schema([])) for name in flag.names]


def output(capsys, *words):
    assert main(words) == 0
    return capsys.readouterr().out


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


def completed(script, line, function):
    """Return what bash offers behind a line; its last word is being written."""
    words = line.split(" ")
    code = f"""{script}
COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
COMP_CWORD={len(words) - 1}
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "function", "offered"),
    [
        ("nats-server --clus", "_nats_server", {"--cluster", "--cluster_name"}),
        ("nats-server -D", "_nats_server", {"-D"}),
        ("framework ru", "_framework", {"run"}),
        ("framework serve --http_p", "_framework", {"--http_port"}),
        ("framework run --log", "_framework", {"--log-dir"}),
        ("framework reload --ser", "_framework", {"--server"}),
    ],
)
def test_bash_offers(capsys, line, function, offered):
    script = output(capsys, "completion", "bash")

    assert offered <= set(completed(script, line, function))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_read_it(capsys, shell):
    needs(shell)
    script = output(capsys, "completion", shell)

    done = subprocess.run([shell, "-n"], input=script, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_flag_is_there(capsys, shell):
    script = output(capsys, "completion", shell)

    spelled = {"bash": "--{}", "zsh": "--{}[", "fish": "-o {}"}[shell]
    assert [name for name in FLAGS if len(name) > 1 and spelled.format(name) not in script] == []


def test_the_manual_page_is_one_for_troff(capsys):
    needs("groff")
    page = output(capsys, "man")

    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-cbou"],
        input=page.encode(),
        check=True,
        capture_output=True,
    )
    shown = done.stdout.decode()
    assert done.stderr == b""
    assert "NATS-SERVER(1)" in shown
    # troff writes a hyphen for itself where none is escaped, and breaks lines.
    assert [name for name in FLAGS if f"-{name}" not in shown] == []
