"""`framework serve`, alias `nats-server`: run one server with nats-server's flags and files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from framework.cli.errors import EXIT_OK, CommandError, complain
from framework.cli.plugin_choice import PluginChoice
from framework.cli.process_name import name_process
from framework.cli.topologies import check_start_files, check_topology
from framework.topology import (
    FlagErrors,
    Schema,
    ServerPlan,
    Topology,
    format_help,
    parse_flags,
    read_server_conf,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.plugins import PluginRegistry
    from framework.topology import CommandLine, ServerConfig


def serve(words: Sequence[str], program: str) -> int:
    """Do what the flags say; mostly, run a server until it is stopped.

    Args:
        words: Flags, behind the name of the program.
        program: What to call ourselves.

    Returns:
        The exit status.
    """
    registry = PluginChoice.from_words(words).registry()
    with registry.attributing():
        return _serve(words, program, registry)


def _serve(words: Sequence[str], program: str, registry: PluginRegistry) -> int:
    schema = Schema(registry.config_sections())
    try:
        line = parse_flags(words, schema)
    except FlagErrors as error:  # as nats-server does, exit status included
        sys.stderr.write(f"{error}\n\n")
        sys.stdout.write(format_help(schema, program))
        return EXIT_OK
    word = _word(line)
    if line.version or word == "version":
        from framework.cli.version import print_server_version  # noqa: PLC0415

        return print_server_version()
    if line.help or word == "help":
        sys.stdout.write(format_help(schema, program))
        return EXIT_OK
    if line.signal is not None:
        from framework.cli.signalling import send_signal  # noqa: PLC0415

        send_signal(line.signal)
        return EXIT_OK
    return _run(line, schema, registry, program)


def _run(line: CommandLine, schema: Schema, registry: PluginRegistry, program: str) -> int:
    if line.test and line.config is None:
        raise CommandError("must specify [-c, --config] option to check configuration file syntax")

    def read() -> ServerConfig:
        config = read_server_conf(line.config, schema, line.settings)
        _check(config, registry)
        return config

    config = read()
    if line.test:
        check_start_files([config])
        complain(program, f"configuration file {line.config} is valid ({config.digest})")
        return EXIT_OK
    name_process()
    from framework.server import run_server  # noqa: PLC0415 -- builds on compiled code

    return run_server(config, registry, read_again=read if line.config else None)


def _word(line: CommandLine) -> str:
    """Return the one word behind the flags that nats-server knows.

    Source: nats-server `server.go`, `ProcessCommandLineArgs`.
    """
    if not line.words:
        return ""
    word = line.words[0].lower()
    if word not in {"version", "help"}:
        raise CommandError(f'unrecognized command: "{line.words[0]}"')
    return word


def _check(config: ServerConfig, registry: PluginRegistry) -> None:
    name = str(config.values["server_name"] or "")
    plan = ServerPlan(name, "", config)
    check_topology(Topology(name, config.file or "", None, (plan,)), registry)
