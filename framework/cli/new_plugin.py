"""`framework new-plugin`: a whole package of a plugin, which builds, loads and passes its tests."""

from __future__ import annotations

import keyword
import re
import string
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from framework.cli.errors import EXIT_OK, CommandError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_HELP: Final = "write the package of a new plugin"
_TEMPLATES: Final = Path(__file__).with_name("templates") / "plugin"
_SUFFIX: Final = ".template"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


def add_command(
    commands: argparse._SubParsersAction[Any],
) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    parser: argparse.ArgumentParser
    parser = commands.add_parser("new-plugin", help=_HELP, description=_HELP, allow_abbrev=False)
    parser.add_argument("name", metavar="NAME", help="of the plugin, such as rate-limit")
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", type=Path, help="new folder (default: framework-NAME)"
    )
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Write the package and return the exit status."""
    words = words_of(arguments.name)
    folder: Path = arguments.folder or Path(words["distribution"])
    if folder.exists():
        raise CommandError(f"{folder} is there already", "name another folder")
    write_plugin(folder, words)
    sys.stdout.write(
        f"wrote the plugin {words['plugin']} into {folder}; try it:\n"
        f"  cd {folder}\n  pip install -e '.[test]'\n  pytest\n"
    )
    return EXIT_OK


def words_of(name: str) -> Mapping[str, str]:
    """Return what stands for the variables of the templates.

    Raises:
        CommandError: It is no name for a plugin.
    """
    plugin = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(plugin):
        raise CommandError(
            f"{name!r} can't be the name of a plugin",
            "use lower-case letters, digits and single dashes, such as rate-limit",
        )
    from framework import __version__  # noqa: PLC0415 - the package is not complete before

    major, minor = __version__.split(".")[:2]
    return {
        "plugin": plugin,
        "package": f"framework_{plugin}",
        "distribution": f"framework-{name.replace('_', '-')}",
        "version": f"{major}.{minor}",
        "next_version": f"{major}.{int(minor) + 1}",
    }


def write_plugin(folder: Path, words: Mapping[str, str]) -> None:
    """Write all files of a plugin.

    Args:
        folder: Does not exist yet.
        words: What stands for the variables of the templates, and in the names of files.

    Raises:
        OSError: A file can't be written.
    """
    for source in sorted(_TEMPLATES.rglob(f"*{_SUFFIX}")):
        name = str(source.relative_to(_TEMPLATES)).removesuffix(_SUFFIX)
        name = name.replace("src/package", f"src/{words['package']}")
        target = folder / name.replace("plugin.conf", f"{words['plugin']}.conf")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = string.Template(source.read_text("utf-8")).substitute(words)
        target.write_text(text, "utf-8")
