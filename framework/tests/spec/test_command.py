from __future__ import annotations

import argparse

import pytest

from framework.spec import CommandGroup


@pytest.fixture
def parser():
    parser = argparse.ArgumentParser(prog="framework audit")
    tail = CommandGroup(parser).add_command("tail", lambda arguments: arguments.lines, help="show")
    tail.add_argument("--lines", type=int, default=10)
    return parser


def test_a_command_is_found_with_its_arguments(parser):
    arguments = parser.parse_args(["tail", "--lines", "3"])

    assert arguments.run(arguments) == 3


def test_a_group_alone_is_no_command(parser, capsys):
    with pytest.raises(SystemExit):
        parser.parse_args([])

    assert "COMMAND" in capsys.readouterr().err
