"""Documents lead somewhere, and the generated ones are up to date."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "plugins/*/*.md",
        "spark/*/*.md",
        "examples/**/*.md",
        "bench/*.md",
    )
    for path in ROOT.glob(pattern)
)
GENERATORS = {
    "docs/HOOKS.md": ["tools/hooks_reference.py"],
    "docs/OPTIONS.md": ["-m", "framework.topology.reference"],
}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")
TOP = {path.name for path in ROOT.iterdir()}


def anchors(page: Path) -> set[str]:
    """Return what links into `page` may end in, as the usual renderers make it of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each).strip().lower().replace(" ", "-") for each in headings}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        goal = (page.parent / file) if file else page

        assert goal.exists(), target
        assert not anchor or anchor in anchors(goal), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_files_exist(page: Path) -> None:
    named = [path for path in PATH.findall(page.read_text()) if path.split("/")[0] in TOP]

    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", GENERATORS)
def test_generated_page_is_up_to_date(page: str) -> None:
    run = subprocess.run(
        [sys.executable, *GENERATORS[page], "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr


def test_readme_commands_are_those_of_the_project() -> None:
    readme = (ROOT / "README.md").read_text()
    environments = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

    assert "./dev run examples/cluster.toml" in readme
    assert "./dev test" in readme
    assert set(environments) == {"framework", "nats-server"}
