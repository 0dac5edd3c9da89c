"""`nats-server` and `framework serve` up to the start of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.cli import main, nats_server_main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

DIGEST = "sha256:05289e5fae1e43c3e9ebb71773dac05dbb5988eb00455a9fbeedd55495a36fa3"
"""Of one option, as nats-server 2.15.2 shows it."""


def test_t_says_that_a_file_is_valid(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "good.conf"
    file.write_text("port: 16100\n")

    assert nats_server_main(["-t", "-c", str(file)]) == 0
    assert (
        capsys.readouterr().err == f"nats-server: configuration file {file} is valid ({DIGEST})\n"
    )


def test_t_says_where_a_file_is_wrong(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "bad.conf"
    file.write_text("debug: true\nprot: 16100\n")

    assert nats_server_main(["-t", "--config", str(file)]) == 1
    assert capsys.readouterr().err == (
        f"nats-server: {file}:2:1: unknown key `prot`; did you mean `port`?\n"
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-t"], "must specify [-c, --config] option to check configuration file syntax"),
        (["bogus"], 'unrecognized command: "bogus"'),
        (["-sl", "explode"], 'unknown signal "explode"'),
        (["--signal", "stop=abc"], "invalid pid: abc"),
        (["-c", "/does/not/exist.conf"], "/does/not/exist.conf"),
    ],
)
def test_what_cannot_be_done_is_one_line(capsys: Capture, words: list[str], text: str) -> None:
    assert nats_server_main(words) == 1

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"nats-server: {text}")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-prot", "1"], "flag provided but not defined: -prot"),
        (["-p"], "flag needs an argument: -p"),
        (["-DV=maybe"], 'argument -DV: expected true or false, found "maybe"'),
    ],
)
def test_an_error_in_flags_shows_the_usage_as_nats_server_does(
    capsys: Capture, words: list[str], text: str
) -> None:
    assert nats_server_main(words) == 0  # 2.15.2 exits with it too

    shown = capsys.readouterr()
    assert shown.err.splitlines()[0].startswith(text)
    assert shown.out.startswith("usage: nats-server [flags]")


def test_routes_need_a_place_to_listen_in_nats_servers_words(capsys: Capture) -> None:
    assert nats_server_main(["-routes", "nats://localhost:16148"]) == 1

    text = "nats-server: solicited routes require cluster capabilities, e.g. --cluster"
    assert text in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("words", [["-D", "-v"], ["-D", "version"]])
def test_the_version_among_other_flags(capsys: Capture, words: list[str]) -> None:
    assert nats_server_main(words) == 0
    assert capsys.readouterr().out == "nats-server: v2.15.2\n"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_lists_flags_of_plugins_too(capsys: Capture, words: list[str]) -> None:
    assert main(["serve", *words]) == 0

    text = capsys.readouterr().out
    assert "-routes" in text
    assert "-signal" in text
    assert "-plugins-dir" in text


def test_without_a_plugin_its_flags_are_unknown(capsys: Capture) -> None:
    assert main(["--no-plugin", "route", "serve", "-routes", "nats://localhost:16148"]) == 1
    assert "routes" in capsys.readouterr().err


def test_what_a_file_lacks_is_not_blamed_on_the_flags(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "bad.conf"
    file.write_text("lame_duck_duration: 1s\nlame_duck_grace_period: 10s\n")
    assert nats_server_main(["-t", "-c", str(file)]) == 1
    alone = capsys.readouterr().err

    assert nats_server_main(["-t", "-c", str(file), "-p", "4222"]) == 1
    assert capsys.readouterr().err == alone
