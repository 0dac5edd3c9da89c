"""`framework completion`: what a shell needs to complete our commands, made from their options."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from framework.cli.errors import EXIT_OK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from framework.topology.flags import FlagHelp

    Words = Mapping[str, tuple[str, list[str]]]
    """Of each command its help and its flags."""

_HELP = "print what lets a shell complete `framework` and `nats-server`"
_LONG_FLAG: Final = re.compile(r"--[a-z][a-z-]*")
_USE = """\
bash: framework completion bash > /etc/bash_completion.d/framework
zsh:  framework completion zsh > /usr/local/share/zsh/site-functions/_framework
fish: framework completion fish > /etc/fish/completions/framework.fish"""


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    import argparse  # noqa: PLC0415 - known by now

    parser: argparse.ArgumentParser = commands.add_parser(
        "completion",
        help=_HELP,
        description=_HELP,
        epilog=_USE,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=list(_SHELLS))
    parser.set_defaults(run=lambda arguments: run(arguments, commands.choices))
    return parser


def run(arguments: argparse.Namespace, commands: Mapping[str, argparse.ArgumentParser]) -> int:
    """Print the script and return the exit status."""
    from framework.topology import Schema  # noqa: PLC0415
    from framework.topology.flags import known_flags  # noqa: PLC0415

    flags = list(known_flags(Schema(arguments.choice.registry().config_sections())))
    render = _SHELLS[arguments.shell]
    sys.stdout.write("\n".join(render(flags, _words_by_command(commands))) + "\n")
    return EXIT_OK


def _words_by_command(commands: Mapping[str, argparse.ArgumentParser]) -> Words:
    """Return the words; `serve` has the flags of nats-server."""
    return {
        name: (parser.description or "", sorted({*_LONG_FLAG.findall(parser.format_help())}))
        for name, parser in commands.items()
    }


def _dashed(flag: FlagHelp) -> list[str]:
    return [f"-{name}" if len(name) == 1 else f"--{name}" for name in flag.names]


def _bash(flags: Sequence[FlagHelp], commands: Words) -> Iterator[str]:
    words = " ".join(word for flag in flags for word in _dashed(flag))
    yield f"""# bash completion of framework and nats-server
_framework_words() {{
    local word=${{COMP_WORDS[COMP_CWORD]}}
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}}
_nats_server() {{
    _framework_words "{words}"
}}
_framework() {{
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "{" ".join(commands)}" -- "${{COMP_WORDS[1]}}")
        return
    fi
    case ${{COMP_WORDS[1]}} in
    serve) _nats_server ;;"""
    for name, (_, own) in commands.items():
        if name != "serve":
            yield f'    {name}) _framework_words "{" ".join(own)}" ;;'
    yield """    esac
}
complete -o filenames -F _nats_server nats-server
complete -o filenames -F _framework framework"""


def _zsh(flags: Sequence[FlagHelp], commands: Words) -> Iterator[str]:
    yield "#compdef framework nats-server"
    yield "_nats_server() {\n    _arguments \\"
    for flag in flags:
        for word in _dashed(flag):
            text = flag.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
            value = f":{flag.metavar.replace(':', '')}:_files" if flag.metavar else ""
            yield f"        {_quoted(f'{word}[{text}]{value}')} \\"
    yield "        '*:file:_files'\n}"
    yield "_framework_command() {\n    local -a commands=("
    for name, (text, _) in commands.items():
        yield f"        {_quoted(f'{name}:{text}')}"
    yield "    )\n    _describe command commands\n}"
    yield """_framework() {
    if ((CURRENT == 2)); then
        _framework_command
        return
    fi
    case $words[2] in
    serve) shift words; ((CURRENT--)); _nats_server ;;"""
    for name, (_, own) in commands.items():
        if name != "serve":
            yield f"    {name}) _arguments {' '.join(map(_quoted, own))} '*:file:_files' ;;"
    yield """    esac
}
if [[ $service == nats-server ]]; then
    _nats_server
else
    _framework
fi"""


def _fish(flags: Sequence[FlagHelp], commands: Words) -> Iterator[str]:
    yield "# fish completion of framework and nats-server"
    for program in ("nats-server", "framework"):
        condition = "" if program == "nats-server" else "-n '__fish_seen_subcommand_from serve' "
        for flag in flags:
            words = " ".join(f"-o {name}" for name in flag.names)
            value = "-r " if flag.metavar else ""
            yield f"complete -c {program} {condition}{words} {value}-d {_quoted(flag.help)}"
    for name, (text, own) in commands.items():
        yield f"complete -c framework -f -n __fish_use_subcommand -a {name} -d {_quoted(text)}"
        for word in own:
            yield (
                f"complete -c framework -n '__fish_seen_subcommand_from {name}'"
                f" -l {word.removeprefix('--')}"
            )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "`") + "'"


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
