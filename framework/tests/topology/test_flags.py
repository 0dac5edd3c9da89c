from __future__ import annotations

import pytest

from framework.topology import (
    Schema,
    TopologyErrors,
    format_help,
    parse_flags,
    plugin_choice,
)


@pytest.fixture
def settings(schema):
    return lambda *argv: parse_flags(argv, schema).settings.plain()


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["-p", "4222"], {"port": "4222"}),
        (["-p=4222"], {"port": "4222"}),
        (["--port", "-1"], {"port": "-1"}),
        (["--addr", "::1"], {"host": "::1"}),
        (["-D"], {"debug": True}),
        (["-V", "--logtime=false"], {"trace": True, "logtime": False}),
        (["-DV"], {"debug": True, "trace": True}),
        (["-DV=false"], {"debug": False, "trace": False}),
        (["-DVV"], {"debug": True, "trace_verbose": True}),
        (["-VV"], {"trace_verbose": True}),
        (["-m", "8222"], {"http_port": "8222"}),
        (["-P", "pid", "-l", "log", "--ports_file_dir", "d"],
         {"pid_file": "pid", "logfile": "log", "ports_file_dir": "d"}),
        (["-n", "-strange"], {"server_name": "-strange"}),
        (["-p", "1", "-p", "2"], {"port": "2"}),
        (["-cluster", "nats://localhost:4248"],
         {"cluster": {"listen": "localhost:4248", "authorization": None}}),
        (["--cluster_listen=nats://a:b@0.0.0.0:-1"],
         {"cluster": {"listen": "0.0.0.0:-1", "authorization": {"user": "a", "password": "b"}}}),
        (["-routes", "nats://a:1, nats://b:2"], {"cluster": {"routes": ["nats://a:1", "nats://b:2"]}}),
        (["-routes", ""], {"cluster": {"routes": []}}),
        (["-quick"], {"cluster": {"retries": 3}}),
    ],
)  # fmt: skip
def test_settings(settings, argv, expected):
    assert settings(*argv) == expected


def test_actions(schema):
    line = parse_flags(
        ["-c", "file", "-t", "--signal", "ldm=1", "-v", "-h", "--plugin", "a", "--plugin=b",
         "--no-plugin", "c", "--plugins-dir", "d", "version"],
        schema,
    )  # fmt: skip

    assert (line.config, line.test, line.signal) == ("file", True, "ldm=1")
    assert (line.version, line.help) == (True, True)
    assert (line.plugins, line.no_plugins, line.plugins_folder) == (["a", "b"], ["c"], "d")
    assert line.words == ("version",)
    assert parse_flags([], schema).plugins == []


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["-prot", "1"], "flag provided but not defined: -prot; did you mean `-port`?"),
        (["-p"], "flag needs an argument: -p"),
        (["-D=perhaps"], 'argument -D/-debug: expected true or false, found "perhaps"'),
        (["-DV=perhaps"], 'argument -DV: expected true or false, found "perhaps"'),
        (["-cluster", "nats://a@h:1"], "expected cluster password to be set"),
        (["--user", "x"], "`-user` needs the auth plugin, which is not loaded"),
    ],
)
def test_what_is_refused(schema, argv, problem):
    with pytest.raises(TopologyErrors) as caught:
        parse_flags(argv, schema)

    assert problem in str(caught.value)


def test_flags_of_an_absent_plugin():
    with pytest.raises(TopologyErrors, match="`-routes` needs the route plugin"):
        parse_flags(["-routes", "nats://h:1"], Schema())


def test_plugins_are_chosen_before_their_flags_are_known():
    argv = [
        "-strange",
        "--plugin",
        "a",
        "-x",
        "1",
        "--plugin=b",
        "-no-plugin",
        "c",
        "--plugins-dir=d",
    ]

    assert plugin_choice(argv) == (["a", "b"], ["c"], "d")
    assert plugin_choice(["-D"]) == ([], [], None)
    assert plugin_choice(["--plugin"]) == ([""], [], None)


def test_help_lists_flags_by_their_owner(schema):
    text = format_help(schema, "nats-server")

    assert "usage: nats-server [flags]" in text
    assert "-p, -port PORT" in text
    assert "-D, -debug  " in text
    assert "Flags of the route plugin:\n  -quick" in text
    assert "syslog" not in text
