"""The tree is tidy, and each rule of tidiness would notice."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from tools import tidy

HOUR = "sle" + "ep(3600)"
"""In two pieces, as this file is a test that must not do it."""

UNTIDY = {
    tidy.actors: [
        ("framework/x/route.py", "class Link(Component): ..."),
        ("framework/x/link.py", "class Link(Component): ...\nclass Other(Component): ..."),
        (
            "framework/x/link.py",
            "class Link(Component):\n    @dataclass\n    class Opened: ...",
        ),
        ("framework/x/link.py", "class Link(Component):\n    class Opened(Struct): ..."),
        (
            "framework/x/link.py",
            "class Link(Component):\n    def on_start(self): self.a.ask(1).get()",
        ),
    ],
    tidy.compiled_imports: [
        ("framework/sublist/_x.pyx", "from framework.dataplane._core cimport Core"),
        ("framework/dataplane/_x.pxd", "from framework.topology.units import x"),
        ("framework/wire/_x.pyx", "import framework_route"),
    ],
    tidy.function_size: [("framework/x.py", "def f():\n" + "    x = 1\n" * 61)],
    tidy.module_names: [("framework/x/utils.py", ""), ("framework/x/_common.pyx", "")],
    tidy.module_size: [("framework/x.py", "\n" * 501), ("tests/test_x.py", "\n" * 801)],
    tidy.no_index_in_requirements: [
        ("requirements/x.txt", "--index-url somewhere"),
        ("requirements/x.txt", "-f folder"),
        ("requirements/x.txt", "x @ file://folder"),
    ],
    tidy.no_loose_ends: [("framework/x.py", "# TO" + "DO: later")],
    tidy.no_machine_paths: [
        ("docs/x.md", "look in " + "/ho" + "me/me/x"),
        ("docs/x.md", "py" + "pi.org"),
    ],
    tidy.no_sleep_in_tests: [("tests/x.py", f"time.{HOUR}"), ("plugins/x/tests/x.py", HOUR)],
    tidy.records: [
        ("framework/x.py", "@dataclass(frozen=True, slots=True)\nclass Seen: ..."),
        (
            "framework/x.py",
            "from dataclasses import field\nclass Seen(Struct, frozen=True):\n    a: int = field()",
        ),
    ],
    tidy.units_in_names: [("framework/x.py", "def f(interval: float | None): ...")],
}

TIDY = [
    ("framework/actors/_root.py", "class _Root(Component): ...\nclass Root(Component[int]): ..."),
    ("framework/x.py", '"""Sizes.\n\nSize: a table of constants.\n"""' + "\n" * 501),
    ("framework/x.py", "@dataclass(frozen=True)\nclass Seen:\n    a: str = field(repr=False)"),
    ("framework/x.py", "@dataclass(frozen=True)\nclass Seen(Protocol): ..."),
    ("framework/x.py", "def f(interval_s: float): ..."),
    ("framework/x.py", "@override\ndef f(interval: float): ..."),
    ("framework/dataplane/_x.pyx", "from framework.sublist._y cimport z"),
    ("framework/route_manager.py", "class RouteManager(Component): ..."),
    ("docs/x.md", "TO" + "DO(#12): revise"),
]


def wrong(findings: list[tidy.Finding]) -> list[str]:
    return [str(finding) for finding in findings if finding.level == "wrong"]


def test_tree_is_tidy() -> None:
    findings = [finding for source in tidy.sources() for finding in tidy.check(source)]

    assert wrong(findings) == []


@pytest.mark.parametrize(
    ("rule", "path", "text"), [(rule, *case) for rule, cases in UNTIDY.items() for case in cases]
)
def test_rule_notices(rule: tidy.Rule, path: str, text: str) -> None:
    source = tidy.Source(PurePosixPath(path), text)

    assert len(wrong(list(rule(source)))) == 1


@pytest.mark.parametrize(("path", "text"), TIDY)
def test_tidy_is_let_pass(path: str, text: str) -> None:
    source = tidy.Source(PurePosixPath(path), text)

    assert wrong(list(tidy.check(source))) == []


def test_each_rule_is_planted() -> None:
    assert set(UNTIDY) == set(tidy.RULES)
