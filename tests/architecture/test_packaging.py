"""What the distributions promise is what is in the tree."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import re
import sys
import tomllib
from importlib.metadata import entry_points, packages_distributions
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
SPARK = sorted(path.parent for path in ROOT.glob("spark/*/pyproject.toml"))


def extensions(folder: Path) -> list[str]:
    tools = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]
    return [each["name"] for each in tools.get("setuptools", {}).get("ext-modules", ())]


EXTENSIONS = [name for folder in (ROOT, *PLUGINS) for name in extensions(folder)]


def name_of(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def pinned(file: str) -> set[str]:
    text = (ROOT / "requirements" / file).read_text()
    return {name_of(line) for line in text.splitlines() if re.match(r"[a-z].*==", line)}


def test_asserts_are_enabled() -> None:
    assert __debug__


@pytest.mark.parametrize("folder", [ROOT, *PLUGINS], ids=["core", *(p.name for p in PLUGINS)])
def test_each_pyx_is_built(folder: Path) -> None:
    packages = folder if folder == ROOT else folder / "src"
    sources = {
        ".".join(path.relative_to(packages).with_suffix("").parts)
        for path in packages.glob("framework*/**/*.pyx")
    }

    assert sources == set(extensions(folder))


@pytest.mark.parametrize("name", EXTENSIONS)
def test_extension_is_compiled(name: str) -> None:
    origin = importlib.import_module(name).__spec__.origin

    assert origin is not None
    assert origin.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))


def test_each_room_says_it_is_typed() -> None:
    assert (ROOT / "framework" / "py.typed").exists()


def test_dependencies_are_pinned() -> None:
    projects = [
        PROJECT,
        *(tomllib.loads((each / "pyproject.toml").read_text()) for each in PLUGINS),
    ]
    declared = {
        name_of(each) for project in projects for each in project["project"]["dependencies"]
    } - {"framework"}
    building = {name_of(each) for each in PROJECT["build-system"]["requires"]}

    assert declared <= pinned("run.txt")
    assert building <= pinned("build.txt")


@pytest.mark.parametrize(
    "folder",
    [ROOT, *PLUGINS, *SPARK],
    ids=["core", *(p.name for p in (*PLUGINS, *SPARK))],
)
def test_what_is_imported_is_declared(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {}).values()
    declared = {name_of(each) for each in chain(project["dependencies"], *extras)}
    homes = packages_distributions()
    used = {
        name_of(homes.get(module, [module])[0])
        for path in (ROOT / "framework" if folder == ROOT else folder / "src").rglob("*.py")
        if "tests" not in path.relative_to(folder).parts
        for module in imported(path) - sys.stdlib_module_names
    }

    assert used - {project["name"]} <= declared


@pytest.mark.parametrize("folder", SPARK, ids=lambda folder: folder.name)
def test_what_spark_brings_is_packaged_as_a_third_party_would(folder: Path) -> None:
    document: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())

    assert document["project"]["name"] == folder.name.replace("_", "-")
    assert set(document) == {"build-system", "project", "tool"}
    assert set(document["tool"]) == {"hatch"}
    assert (folder / "src" / folder.name / "py.typed").exists()


def imported(path: Path) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert node.module is not None
            names.append(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize(
    "file", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda f: f.stem
)
def test_requirements_are_hashed(file: Path) -> None:
    entries = re.findall(
        r"^([a-z][^\n]*==[^\n]*)\n((?:    [^\n]*\n?)*)", file.read_text(), re.MULTILINE
    )

    assert entries
    assert all("--hash=sha256:" in hashes for _, hashes in entries)


def test_versions_agree_between_files() -> None:
    versions: dict[str, set[str]] = {}
    for file in (ROOT / "requirements").glob("*.txt"):
        for name, version in re.findall(r"^([a-z][\w.-]*)==(\S+)", file.read_text(), re.MULTILINE):
            versions.setdefault(name, set()).add(version)

    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_plugin_is_packaged_as_a_third_party_would(folder: Path) -> None:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())
    noun = folder.name

    assert project["project"]["name"] == f"framework-{noun}"
    entry_points = {"framework": {noun: f"framework_{noun}.plugin"}}
    assert project["project"]["entry-points"] == entry_points
    assert any(name_of(each) == "framework" for each in project["project"]["dependencies"])
    assert set(project) <= {"build-system", "project", "tool"}
    compiled = {"distutils", "setuptools"}
    assert set(project["tool"]) == (compiled if extensions(folder) else {"hatch"})
    assert (folder / "src" / f"framework_{noun}" / "py.typed").exists()


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_plugin_is_found(folder: Path) -> None:
    [point] = entry_points(group="framework", name=folder.name)

    assert importlib.import_module(point.value) is point.load()
