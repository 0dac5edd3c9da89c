"""Blocks that users name, values with several forms, and checks that see all blocks."""

from __future__ import annotations

import gc

import pytest

from framework.topology import (
    ConfigSection,
    Kind,
    Option,
    Schema,
    TopologyErrors,
    read_server_conf,
)
from framework.topology.collection import no_collections
from framework.topology.reference import render_reference


def _block_from_text(node):
    return node.with_value({"name": node}) if isinstance(node.value, str) else node


def _refuse_lists(node):
    if isinstance(node.value, list):
        raise ValueError("no lists here")  # noqa: TRY004 - as `Option.normalize` says
    return node


def _settle_all(values):
    for name, group in (values["groups"] or {}).items():
        for index, member in enumerate(group["members"]):
            if member["name"] == values["banned"]:
                yield ("groups", name, "members", index, "name"), "is banned"
            if member["name"] is None:
                yield ("groups", name, "members", index, "name"), "is missing"


SECTION = ConfigSection(
    name="clubs",
    plugin="clubs",
    help="Clubs",
    options=(Option(name="fee", kind=Kind.INT, help="Fee"),),
    top=(
        Option(
            name="groups",
            kind=Kind.NAMED,
            help="Groups",
            options=(
                Option(name="leader", kind=Kind.STRING, help="Leader", aliases=("head",)),
                Option(
                    name="members",
                    kind=Kind.BLOCKS,
                    default=(),
                    help="Members",
                    options=(Option(name="name", kind=Kind.STRING, help="Name"),),
                ),
                Option(
                    name="house",
                    kind=Kind.BLOCK,
                    help="House",
                    options=(Option(name="name", kind=Kind.STRING, help="Name"),),
                    normalize=_block_from_text,
                ),
                Option(name="motto", kind=Kind.STRING, help="Motto", normalize=_refuse_lists),
            ),
        ),
        Option(name="banned", kind=Kind.STRING, help="Who may be in none"),
    ),
    settle_all=_settle_all,
)


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "clubs.conf"
        path.write_text(text)
        return read_server_conf(path, Schema([SECTION])).values

    return read_text


def test_names_are_kept_as_users_write_them(read):
    groups = read('groups { "A.b": { head: ann }, c {} }')["groups"]

    assert list(groups) == ["A.b", "c"]
    assert groups["A.b"]["leader"] == "ann"
    assert groups["c"] == {"leader": None, "members": (), "house": None, "motto": None}


def test_a_key_that_a_variable_refers_to_is_no_block(read):
    assert list(read("groups { boss: ann, c { leader: $boss } }")["groups"]) == ["c"]


def test_one_form_stands_for_another(read):
    groups = read("groups { a { house: oak }, b { house: { name: elm } } }")["groups"]

    assert groups["a"]["house"] == {"name": "oak"}
    assert groups["b"]["house"] == {"name": "elm"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("groups: 5", "1:9: `groups`: expected blocks by name, found 5"),
        ("groups { a: 5 }", "1:13: expected a block, found 5"),
        ("groups { a { hed: x } }", "1:14: unknown key `hed`; did you mean `head`?"),
        ("groups { a { house: [] } }", "1:21: expected a block, found a list"),
        ("groups { a { house: { name: 1 } } }", "`groups.a.house.name`: expected a text"),
        ("groups { a { motto: [] } }", "1:21: `motto`: no lists here"),
        (
            "banned: eve\ngroups { a.b { members: [ {name: bob}, {name: eve} ] } }",
            "2:47: `groups.a.b.members[1].name`: is banned",
        ),
        ("groups { a { members: [ {} ] } }", "1:25: `groups.a.members[0].name`: is missing"),
    ],
)
def test_a_mistake_has_its_place(read, text, error):
    with pytest.raises(TopologyErrors) as raised:
        read(text)

    assert error in str(raised.value)


def test_the_reference_shows_what_stands_inside():
    page = render_reference([SECTION])

    assert "### `groups.*`" in page
    assert "### `groups.*.members`" in page
    assert "blocks by name" in page


@pytest.mark.parametrize("is_on", [True, False])
def test_garbage_is_collected_afterwards_if_it_was_before(is_on):
    (gc.enable if is_on else gc.disable)()
    try:
        with no_collections():
            assert not gc.isenabled()

        assert gc.isenabled() is is_on
    finally:
        gc.enable()
