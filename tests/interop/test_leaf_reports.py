"""What operators see of leaf nodes, beside the real server, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import OURS, await_answer
from tests.interop.leafnodes import Star

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.testing import Fleet, NatsCli

REAL = "2.15.2"
pytestmark = pytest.mark.peer(REAL)
ACCOUNTS = """
    accounts {
        "$SYS" { users: [{ user: s, password: x }] }
        A { users: [{ user: a, password: x }] }
    }
    no_auth_user: a
"""
COUNTED = ("in_msgs", "out_msgs", "in_bytes", "out_bytes")
OF_ONE_RUN = frozenset({"server_id", "now", "id", "ip", "port", "rtt", *COUNTED})


def pair(fleet: Fleet, kind: str, *, is_hub: bool, isolated: bool = False) -> Star:
    """Return a server of a kind at one end, and a real one at the other."""
    kinds = (kind, REAL) if is_hub else (REAL, kind)
    # By itself it goes by the round trip.
    said = "compression: s2_fast\n"
    remote = f"{said}account: A\n" + ("request_isolation: true\n" if isolated else "")
    return Star(
        fleet,
        kinds[0],
        [kinds[1]],
        block=said,
        login="a:x@",
        remote=remote,
        more={"*": ACCOUNTS},
    )


def shown(document: Mapping[str, Any]) -> Any:
    """Return a document with its fields in order; of what is of one run, the type alone."""
    return [
        (name, type(value).__name__ if name in OF_ONE_RUN else _inner(name, value))
        for name, value in document.items()
    ]


def _inner(name: str, value: Any) -> Any:
    if name == "leafs":
        return [shown(it) for it in value]
    if name == "subscriptions_list":
        return sorted("$LDS" if it.startswith("$LDS.") else it for it in value)
    return value


@pytest.mark.parametrize("isolated", [False, True], ids=["", "isolated"])
@pytest.mark.parametrize("is_hub", [True, False], ids=["hub", "leaf"])
@pytest.mark.parametrize("query", ["", "?subs=1", "?acc=A", "?acc=B", "?subs=1&acc=A"])
def test_leafz_is_that_of_the_real_one(
    fleet: Fleet, query: str, *, is_hub: bool, isolated: bool
) -> None:
    documents = []
    for kind in (OURS, REAL):
        with pair(fleet, kind, is_hub=is_hub, isolated=isolated) as star:
            here, there = ("hub", "leaf0") if is_hub else ("leaf0", "hub")
            star.check_all()
            with star.client(there, b"seen.* 1"), star.client(here) as client:
                client.await_interest(b"seen.here")
                await_answer(
                    star.servers[here],
                    lambda star=star, here=here: star.leafz(here)["leafs"][0]["rtt"],  # type: ignore[misc]
                    bool,
                )
                documents.append(shown(star.leafz(here, query)))

    ours, real = documents
    assert ours == real


@pytest.mark.parametrize("is_hub", [True, False], ids=["hub", "leaf"])
def test_varz_has_the_block_of_the_real_one(fleet: Fleet, *, is_hub: bool) -> None:
    blocks = []
    for kind in (OURS, REAL):
        with pair(fleet, kind, is_hub=is_hub) as star:
            star.check_all()
            document = star.servers["hub" if is_hub else "leaf0"].document("/varz")
            block = {**document["leaf"]}
            block.pop("port", None)
            for remote in block.get("remotes", []):
                remote["urls"] = len(remote["urls"])
            blocks.append((list(document["leaf"]), block, document["leafnodes"]))

    ours, real = blocks
    assert ours == real


@pytest.fixture
def mixed(fleet: Fleet) -> Iterator[Star]:
    with pair(fleet, OURS, is_hub=True) as star:
        star.check_all()
        yield star


@pytest.mark.peer("nats")
def test_the_nats_command_reports_leaf_nodes(mixed: Star, nats_cli: NatsCli) -> None:
    url = mixed.servers["hub"].url.replace("nats://", "nats://s:x@")
    report = nats_cli.run(url, "server", "report", "leafnodes")
    words = report.replace("│", " ").split()

    assert "leaf0" in words
    assert "hub" in words
    assert "A" in words
