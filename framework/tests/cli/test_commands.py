"""`check`, `plugins`, and the commands of plugins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from framework.cli import main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


def test_check_explains_a_topology(capsys: Capture, topology: Path) -> None:
    assert main(["check", str(topology)]) == 0

    text = capsys.readouterr().out
    assert "topology small" in text
    assert "127.0.0.1:16101" in text


def test_check_tells_the_place_and_starts_nothing(capsys: Capture, topology: Path) -> None:
    topology.write_text(topology.read_text().replace("port = 16101", "prot = 16101"))

    assert main(["check", str(topology)]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"framework: {topology}:7:1: unknown key `prot`")
    assert line.endswith("did you mean `port`?")


def test_check_tells_all_that_is_wrong(capsys: Capture, topology: Path) -> None:
    topology.write_text(topology.read_text().replace("port", "prot"))

    assert main(["check", str(topology)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_what_needs_an_absent_plugin_is_refused(capsys: Capture, topology: Path) -> None:
    assert main(["check", "--no-plugin", "route", str(topology)]) == 1
    assert "needs the route plugin" in capsys.readouterr().err


def test_plugins_tells_what_is_loaded_and_from_where(capsys: Capture, plugin: Path) -> None:
    assert main(["plugins", "--no-plugin", "route", "--plugin", str(plugin)]) == 0

    text = capsys.readouterr().out  # other plugins may be installed where the tests run
    assert (
        f"\npolite: {plugin}\n  file   {plugin}\n  hooks  framework_add_commands\n" in f"\n{text}"
    )
    assert "route: " not in text


def test_plugins_of_a_topology_are_those_that_it_lists(capsys: Capture, topology: Path) -> None:
    assert main(["plugins", str(topology)]) == 0
    assert capsys.readouterr().out.startswith("route: framework-route ")
    topology.write_text("plugins = []\n")
    assert main(["plugins", str(topology)]) == 0
    assert capsys.readouterr().out == "no plugin is loaded; the core runs alone\n"


def test_a_folder_of_plugins(capsys: Capture, plugin: Path) -> None:
    assert main(["plugins", "--plugins-dir", str(plugin.parent), "--no-plugin", "route"]) == 0
    assert f"\npolite: {plugin}\n" in f"\n{capsys.readouterr().out}"


def test_an_unknown_plugin_is_one_line(capsys: Capture) -> None:
    assert main(["plugins", "--plugin", "rout"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("framework: plugin rout: is not installed; ")


@pytest.mark.parametrize("behind", [True, False])
def test_a_plugin_adds_commands(capsys: Capture, plugin: Path, *, behind: bool) -> None:
    choice = ["--plugin", str(plugin)]
    words = ["polite", "greet", "check"]
    if behind:  # the choice may stand before the command only: behind it, flags are the plugin's
        words, choice = choice + words, []

    assert main(choice + words) == 3
    assert capsys.readouterr().out == "hello check\n"


def test_help_lists_the_commands_of_plugins(capsys: Capture, plugin: Path) -> None:
    with pytest.raises(SystemExit) as exited:
        main(["--plugin", str(plugin), "--help"])

    assert exited.value.code == 0
    assert "commands of the plugin polite" in capsys.readouterr().out


def test_a_plugin_may_not_take_a_command_of_ours(capsys: Capture, plugin: Path) -> None:
    taken = plugin.with_name("check.py")
    plugin.rename(taken)

    assert main(["--plugin", str(taken), "nothing"]) == 1
    assert "is a command of ours" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["bogus"], ["run"], ["check", "a", "b"], ["run", "--serv", "x"]])
def test_wrong_words_are_one_line_and_exit_status_2(capsys: Capture, words: list[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        main(words)

    assert exited.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_no_word_at_all_gets_the_help(capsys: Capture) -> None:
    assert main([]) == 2
    assert capsys.readouterr().out.startswith("usage: framework")


def test_check_writes_a_document(capsys: pytest.CaptureFixture[str], topology: Path) -> None:
    assert main(["check", "--json", str(topology)]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["valid"] is True
    assert document["topology"] == "small"
    first, second = document["servers"]
    assert (first["name"], first["cluster"]) == ("a", "main")
    assert first["ports"]["client"] == "127.0.0.1:16100"
    assert second["settings"]["port"] == {"value": "16101", "origin": f"{topology}:7:8"}


def test_check_warns_of_texts_that_are_variables(
    capsys: Capture, topology: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECOND_PORT", "16109")
    topology.write_text(topology.read_text().replace("port = 16101", 'port = "$SECOND_PORT"'))
    problem = "$SECOND_PORT is read from the environment"
    fix = "write $$SECOND_PORT if the text is meant"

    assert main(["check", str(topology)]) == 0
    said = capsys.readouterr()
    assert said.err == f"warning: {topology}:7:8: {problem}; {fix}\n"
    assert f" {topology}:7:8 ($SECOND_PORT)\n" in said.out

    assert main(["check", "--json", str(topology)]) == 0
    [warning] = json.loads(capsys.readouterr().out)["warnings"]
    assert (warning["line"], warning["problem"], warning["fix"]) == (7, problem, fix)


def test_check_writes_mistakes_as_a_document(
    capsys: pytest.CaptureFixture[str], topology: Path
) -> None:
    topology.write_text(topology.read_text().replace("port = 16101", "prot = 16101"))
    assert main(["check", "--json", str(topology)]) == 1

    document = json.loads(capsys.readouterr().out)
    assert document["valid"] is False
    [error] = document["errors"]
    assert (error["file"], error["line"], error["column"]) == (str(topology), 7, 1)
    assert (error["problem"], error["fix"]) == ("unknown key `prot`", "did you mean `port`?")


def test_plugins_writes_a_document(capsys: pytest.CaptureFixture[str], plugin: Path) -> None:
    assert main(["plugins", "--json", "--plugin", str(plugin)]) == 0

    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["plugins"]}
    assert rows["polite"]["file"] == str(plugin)
    assert rows["polite"]["hooks"] == ["framework_add_commands"]
    assert rows["route"]["origin"].startswith("framework-route ")


def test_leaving_out_what_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--no-plugin", "rout"]) == 1

    problem = "framework: plugin rout: is not there to be left out; did you mean route?\n"
    assert capsys.readouterr().err == problem


def test_a_plugin_that_only_the_topology_lists_can_be_left_out(
    capsys: pytest.CaptureFixture[str], topology: Path
) -> None:
    topology.write_text(topology.read_text().replace('["route"]', '["route", "not_installed"]'))

    assert main(["check", str(topology), "--no-plugin", "not_installed"]) == 0
    assert "server a" in capsys.readouterr().out
