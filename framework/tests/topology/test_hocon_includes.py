"""Includes of HOCON files that are not there, and JSON as the HOCON that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.topology import TopologyErrors, open_topology, read_topology

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = "clusters { a { servers = 1, port = -1 } }\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('include "no.hocon"\n', "1:9"),
        ('name = x\n  include file("no.hocon")\n', "2:16"),
        ('include required(file("no.hocon"))\n', "1:23"),
        ('defaults { include "no.hocon" }\n', "1:20"),
        ('include "*no.hocon"\n', "1:9"),
    ],
)
def test_an_include_that_is_not_there_is_told_with_its_place(
    tmp_path: Path, text: str, place: str
) -> None:
    file = tmp_path / "t.hocon"
    file.write_text(text + WHOLE)

    with pytest.raises(TopologyErrors) as caught:
        open_topology(file)
    told = str(caught.value)
    assert told.startswith(f"{file}:{place}: cannot include {tmp_path}/")
    assert told.endswith("no.hocon: no such file or directory")


def test_includes_of_included_files_are_looked_for_beside_them(tmp_path: Path) -> None:
    inner = tmp_path / "inner" / "a.hocon"
    inner.parent.mkdir()
    inner.write_text('include "b.hocon"\n')
    file = tmp_path / "t.hocon"
    file.write_text(f'include "inner/a.hocon"\n{WHOLE}')
    with pytest.raises(TopologyErrors) as caught:
        open_topology(file)
    assert str(caught.value).startswith(f"{inner}:1:9: cannot include {inner.parent}/b.hocon")

    (inner.parent / "b.hocon").write_text("name = found\n")
    assert open_topology(file).name == "found"


@pytest.mark.parametrize(
    "text",
    [
        '# include "no.hocon"\n',
        '// include "no.hocon"\n',
        'name = "x" # include "no.hocon"\n',
        'name = """\ninclude "no.hocon"\n"""\n',
    ],
)
def test_what_only_looks_like_an_include_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "t.hocon"
    file.write_text(text + WHOLE)

    assert open_topology(file).root


def test_a_json_file_is_a_topology(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"name": "shop", "clusters": {"a": {"servers": 1, "port": 4222}}}')

    topology = read_topology(file)
    assert topology.name == "shop"
    assert [plan.name for plan in topology.servers] == ["a-1"]
