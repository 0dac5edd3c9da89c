"""Habits of this code that no linter knows; `tests/architecture/test_tidy.py` runs it.

Each rule gets one file and yields what is wrong with it. Findings of level "look" are printed
and let pass; any other finding fails.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from typing_extensions import override

ROOT = Path(__file__).resolve().parent.parent

ROOMS = frozenset({"framework", "plugins"})
NAMES_BANNED = frozenset({"base", "common", "handler", "helpers", "manager", "misc", "utils"})
MODULE_LINES = (300, 500)  # look again; split, or say why in the docstring: `Size: ...`
TEST_MODULE_LINES = (400, 800)
FUNCTION_LINES = (25, 60)  # without the docstring
NAMES_WITHOUT_UNIT = frozenset({"delay", "duration", "interval", "size", "time"})

# Written so that they do not find themselves.
MACHINE_PATH = re.compile(r"(?<![\w.<$}])/(?:home|root|work)/\w")
REGISTRY_HOST = re.compile(r"pypi[.]org|pythonhosted[.]org|proxy[.]golang[.]org|npmjs[.]org")
INDEX_OPTION = re.compile(
    r"^\s*(?:-i\b|-f\b|--(?:extra-)?index-url|--find-links)|://", re.MULTILINE
)
TO_DO = re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X)\b(?!\(#\d+\))")
CIMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+c?import|c?import\s+(\S+))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to change, or to look at again."""

    path: PurePosixPath
    line: int
    problem: str
    level: str = "wrong"

    @override
    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


@dataclass(frozen=True)
class Source:
    """One file of the tree."""

    path: PurePosixPath
    """Relative to the root."""
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python file."""
        return ast.parse(self.text)

    @property
    def is_test(self) -> bool:
        """Whether it is a test or something that only tests use."""
        return "tests" in self.path.parts

    def line_of(self, offset: int) -> int:
        """Return the line, from 1, of a place in the text."""
        return self.text.count("\n", 0, offset) + 1

    def at(self, line: int, problem: str, level: str = "wrong") -> Finding:
        """Return a finding in this file."""
        return Finding(self.path, line, problem, level)


Rule = Callable[[Source], Iterator[Finding]]


def no_machine_paths(source: Source) -> Iterator[Finding]:
    """No folder of the machine on which it was written, and no registry's host name."""
    for pattern, what in ((MACHINE_PATH, "absolute path"), (REGISTRY_HOST, "registry host")):
        for match in pattern.finditer(source.text):
            yield source.at(source.line_of(match.start()), f"{what} of a machine: {match[0]}")


def no_loose_ends(source: Source) -> Iterator[Finding]:
    """What is left to do names its issue: `TO-DO(#12)`, written as one word."""
    for match in TO_DO.finditer(source.text):
        yield source.at(source.line_of(match.start()), f"{match[0]} without its issue")


def no_index_in_requirements(source: Source) -> Iterator[Finding]:
    """Requirement files name packages and hashes, never where to get them."""
    if source.path.parent.name == "requirements":
        for match in INDEX_OPTION.finditer(source.text):
            yield source.at(source.line_of(match.start()), "names an index")


def module_names(source: Source) -> Iterator[Finding]:
    """A module is a noun that says what is in it."""
    if source.path.suffix in {".py", ".pyx"} and source.path.stem.strip("_") in NAMES_BANNED:
        yield source.at(1, f"`{source.path.stem}` says nothing about what is in it")


def module_size(source: Source) -> Iterator[Finding]:
    """Guard the tail: long modules say why they are."""
    if source.path.suffix not in {".py", ".pyx"}:
        return
    look, most = TEST_MODULE_LINES if source.is_test else MODULE_LINES
    lines = source.text.count("\n")
    if lines > most and not re.search(r"^Size: \S", source.text, re.MULTILINE):
        yield source.at(1, f"{lines} lines; split it, or say why: `Size: ...` in the docstring")
    elif lines > look:
        yield source.at(1, f"{lines} lines", "look")


def function_size(source: Source) -> Iterator[Finding]:
    """A function fits the eye."""
    if source.path.suffix != ".py":
        return
    look, most = FUNCTION_LINES
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
        if lines > look:
            level = "wrong" if lines > most else "look"
            yield source.at(node.lineno, f"`{node.name}` has {lines} lines", level)


def no_sleep_in_tests(source: Source) -> Iterator[Finding]:
    """Tests wait for what they need, never for time to pass."""
    if source.path.suffix != ".py" or not source.is_test:
        return
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name(id="sleep") | ast.Attribute(attr="sleep")):
                yield source.at(node.lineno, "a test sleeps")


def actors(source: Source) -> Iterator[Finding]:
    """One actor a module, named after it; its messages frozen; it never waits for an answer."""
    if source.path.suffix != ".py" or source.is_test:
        return
    found = [node for node in source.tree.body if _is_actor(node)]
    for node in found[1:]:
        yield source.at(node.lineno, "a second actor in the module")
    for node in found[:1]:
        assert isinstance(node, ast.ClassDef)
        noun = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name).lower()
        if noun.strip("_") != source.path.stem.strip("_"):
            yield source.at(node.lineno, f"actor `{node.name}` stands in `{source.path.name}`")
        yield from _messages(source, node)
        yield from _waits(source)


def _is_actor(node: ast.stmt) -> bool:
    if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
        return False
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    return "Component" in {getattr(base, "id", getattr(base, "attr", "")) for base in bases}


def _messages(source: Source, actor: ast.ClassDef) -> Iterator[Finding]:
    for node in actor.body:
        if isinstance(node, ast.ClassDef):
            words = " ".join(map(ast.unparse, (*node.decorator_list, *node.bases, *node.keywords)))
            if re.search(r"\b(?:dataclass|Struct)\b", words) and "frozen=True" not in words:
                yield source.at(node.lineno, f"message `{node.name}` is not frozen")


def _waits(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="get", value=ast.Call(func=ast.Attribute(attr="ask")))
            ):
                yield source.at(node.lineno, "an actor waits for an answer")


def records(source: Source) -> Iterator[Finding]:
    """What never changes is a Struct (decision 0011), unless it hides a field or has a base.

    A Struct that gets the `field` of dataclasses takes it for the default, and says nothing.
    """
    if source.path.suffix != ".py" or source.is_test or source.path.parts[0] not in ROOMS:
        return
    has_their_field = re.search("^from dataclasses import .*field", source.text, re.MULTILINE)
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        decorators, text = " ".join(map(ast.unparse, node.decorator_list)), ast.unparse(node)
        if "frozen=True" in decorators and not node.bases and "repr=False" not in text:
            yield source.at(node.lineno, f"record `{node.name}` is no Struct")
        is_struct = any(word.arg == "frozen" for word in node.keywords)
        if is_struct and has_their_field and "field(" in text:
            yield source.at(node.lineno, f"Struct `{node.name}` has a field of dataclasses")


def units_in_names(source: Source) -> Iterator[Finding]:
    """A number of seconds or bytes says so in its name; overrides have the name they were given."""
    if source.path.suffix != ".py" or source.is_test:
        return
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if "override" in map(ast.unparse, node.decorator_list):
            continue
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            kind = ast.unparse(argument.annotation) if argument.annotation else ""
            if argument.arg in NAMES_WITHOUT_UNIT and kind.split(" | ")[0] in {"int", "float"}:
                yield source.at(argument.lineno, f"`{argument.arg}` has no unit")


def compiled_imports(source: Source) -> Iterator[Finding]:
    """Compiled code obeys the layers of importlinter.toml, which cannot read it."""
    if source.path.suffix not in {".pyx", ".pxd"} or source.path.parts[0] != "framework":
        return
    floors = _floors()
    own = source.path.parts[1]
    for match in CIMPORT.finditer(source.text):
        names = (match[1] or match[2]).split(".")
        if names[0] != "framework":
            if names[0].startswith("framework_"):
                yield source.at(source.line_of(match.start()), "imports a plugin")
            continue
        room = names[1].rstrip(",")
        if room != own and floors[room] >= floors[own]:
            problem = f"`{own}` imports `{room}`, which is not below it"
            yield source.at(source.line_of(match.start()), problem)


def _floors() -> dict[str, int]:
    """Return how high each room of the framework stands; the cellar is 0."""
    settings = tomllib.loads((ROOT / "importlinter.toml").read_text())
    rooms = next(c for c in settings["tool"]["importlinter"]["contracts"] if c["id"] == "rooms")
    return {
        room.strip(" ()"): floor
        for floor, layer in enumerate(reversed(rooms["layers"]))
        for room in layer.split("|")
    }


RULES: tuple[Rule, ...] = (
    actors,
    compiled_imports,
    function_size,
    module_names,
    module_size,
    no_index_in_requirements,
    no_loose_ends,
    no_machine_paths,
    no_sleep_in_tests,
    records,
    units_in_names,
)


def check(source: Source) -> Iterator[Finding]:
    """Yield what every rule finds in `source`."""
    for rule in RULES:
        yield from rule(source)


def sources() -> Iterator[Source]:
    """Yield the files that Git has or would take, as far as they are text."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in sorted(set(filter(None, listed.stdout.split("\0")))):
        try:
            yield Source(PurePosixPath(name), (ROOT / name).read_text())
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            continue  # deleted meanwhile, a link to a folder, or not text


def main() -> int:
    """Print all findings; return 1 if one of them is more than a hint."""
    findings = [finding for source in sources() for finding in check(source)]
    for finding in findings:
        print(f"{finding}" if finding.level == "wrong" else f"{finding} (look again)")
    return int(any(finding.level == "wrong" for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
