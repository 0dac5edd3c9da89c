"""What may cross between a hub and its leaf node: permissions of both sides, isolation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet, RawClient

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
USERS = """
authorization { users [
  { user: leaf, password: x, permissions {
    publish { allow: ["in.>", "end.>", "_INBOX.>"], deny: "in.secret" }
    subscribe { allow: ["out.>", "end.>", "_INBOX.>"], deny: "out.secret" } } }
  { user: other, password: x }
] }
"""


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def heard(publisher: RawClient, subscriber: RawClient, subjects: list[str], end: str) -> list[str]:
    """Publish on subjects, the last of which is sure to arrive; return those that did."""
    publisher.await_interest(f"{end}.try".encode())
    for subject in (*subjects, f"{end}.end"):
        publisher.send(f"PUB {subject} 1\r\n1\r\n".encode())
    got = subscriber.read_until(f"MSG {end}.end".encode())
    return [it.subject.decode() for it in got if it.subject.decode() in subjects]


def test_deny_imports_and_deny_exports(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    remote = 'deny_imports: ["a.no", "b.>"], deny_exports: ["c.no", "d.>"]'
    subjects = [f"{first}.{second}" for first in "abcd" for second in ("yes", "no")]
    with Star(fleet, hub, [leaf], remote=remote) as star:
        # One by one: a wildcard makes nats-server hold back what is denied the other way, too.
        each = [f"{it} {it}".encode() for it in (*subjects, "end.>")]
        with star.client("leaf0", *each) as far, star.client("hub") as near:
            there = heard(near, far, subjects, "end.0")
        with star.client("hub", *each) as far, star.client("leaf0") as near:
            back = heard(near, far, subjects, "end.1")

    assert there == ["a.yes", "c.yes", "c.no", "d.yes", "d.no"]
    assert back == ["a.yes", "a.no", "b.yes", "b.no", "c.yes"]


def test_permissions_of_the_user_at_the_hub(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    subjects = ["in.a", "in.secret", "out.a", "out.secret", "other"]
    login = {"user": "other", "pass": "x"}
    with Star(fleet, hub, [leaf], login="leaf:x@", more={"hub": USERS}) as star:
        with star.client("leaf0", b"> 1") as far, star.client("hub", **login) as near:
            there = heard(near, far, subjects, "end.0")
        with star.client("hub", b"> 1", **login) as far, star.client("leaf0") as near:
            back = heard(near, far, subjects, "end.1")

    assert there == ["out.a"]
    assert back == ["in.a"]


@pytest.mark.parametrize("who", ["hub", "request"])
def test_an_isolated_leaf_node_is_told_nothing_of_others(
    kinds: tuple[str, str], fleet: Fleet, who: str
) -> None:
    hub, leaf = kinds
    block = "isolate_leafnode_interest: true" if who == "hub" else ""
    remote = "request_isolation: true" if who == "request" else ""
    with Star(fleet, hub, [leaf, leaf], block=block, remote=remote) as star:
        star.check("hub", "leaf0")
        star.check("leaf0", "hub")
        with star.client("leaf0", b"east.> 1"), star.client("leaf1", b"_INBOX.> 1") as client:
            star.check("leaf1", "hub")
            client.send(b"PUB east.west _INBOX.1 1\r\n1\r\n")

            assert client.read_until(b"HMSG _INBOX.1")[-1].body.startswith(b"NATS/1.0 503")

        assert all(it["is_isolated"] for it in star.leafz("hub")["leafs"])


def test_a_leaf_node_may_be_the_hub(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    with Star(fleet, hub, [leaf], remote="hub: true") as star:
        star.check_all()

        assert [it["is_spoke"] for it in star.leafz("hub")["leafs"]] == [True]
        assert [it["is_spoke"] for it in star.leafz("leaf0")["leafs"]] == [False]


SERVICES = """
accounts {
  A { users [ { user: a, password: x } ], exports [ { service: serve } ] }
  B {
    users [ { user: b, password: x } ]
    imports [ { service { account: A, subject: serve }, to: ask } ]
  }
}
"""


SERVE = b"HMSG serve"
"""The header says who asks."""


def test_imports_of_services_at_the_hub_are_reached_from_leaf_nodes(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    hub, leaf = kinds
    with (
        Star(fleet, hub, [leaf], login="b:x@", more={"hub": SERVICES}) as star,
        star.client("hub", b"serve 1", user="a", **{"pass": "x"}) as service,
        star.client("leaf0", b"_INBOX.> 1") as client,
    ):
        client.await_interest(b"ask")
        service.read_until(SERVE)
        client.send(b"PUB ask _INBOX.1 1\r\n?\r\n")
        asked = service.read_until(SERVE)[-1]
        service.send(b"PUB %b 2\r\nyo\r\n" % asked.line.split()[3])

        assert client.read_until(b"MSG _INBOX.1")[-1].body == b"yo"


def test_services_at_leaf_nodes_are_reached_by_imports_at_the_hub(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    hub, leaf = kinds
    with (
        Star(fleet, hub, [leaf], login="a:x@", more={"hub": SERVICES}) as star,
        star.client("leaf0", b"serve 1") as service,
        star.client("hub", b"_INBOX.> 1", user="b", **{"pass": "x"}) as client,
    ):
        star.check("leaf0", "hub", to="a")
        client.send(b"PUB ask _INBOX.1 1\r\n?\r\n")
        asked = service.read_until(SERVE)[-1]
        service.send(b"PUB %b 2\r\nyo\r\n" % asked.line.split()[3])

        assert client.read_until(b"MSG _INBOX.1")[-1].body == b"yo"


def test_mappings_of_the_hub_are_about_what_leaf_nodes_publish(
    kinds: tuple[str, str], fleet: Fleet
) -> None:
    hub, leaf = kinds
    mappings = 'mappings = { "from.*": "to.$1" }\n'
    with (
        Star(fleet, hub, [leaf], more={"hub": mappings}) as star,
        star.client("hub", b"to.> 1") as subscriber,
        star.client("leaf0") as publisher,
    ):
        star.check("leaf0", "hub")
        publisher.send(b"PUB from.a 1\r\n1\r\n" * 2)

        assert [subscriber.expect(b"MSG").subject for _ in range(2)] == [b"to.a"] * 2


@pytest.mark.parametrize("is_hub_streaming", [True, False], ids=["hub", "leaf"])
def test_the_api_of_a_domain_crosses_and_the_plain_one_does_not(
    kinds: tuple[str, str], fleet: Fleet, tmp_path: Path, *, is_hub_streaming: bool
) -> None:
    """One end, a real server, has streams; the other one has not."""
    end = "hub" if is_hub_streaming else "leaf0"
    other = "leaf0" if is_hub_streaming else "hub"
    streams = f'jetstream {{ domain: d, store_dir: "{tmp_path}/js" }}\n'
    pair = (REAL, kinds[1]) if is_hub_streaming else (kinds[0], REAL)
    with (
        Star(fleet, pair[0], [pair[1]], more={end: streams}) as star,
        star.client(other, b"_INBOX.> 1") as client,
    ):
        star.check(other, end)
        client.await_interest(b"$JS.d.API.INFO")
        client.send(b"PUB $JS.d.API.INFO _INBOX.1 0\r\n\r\n")
        answer = client.read_until(b"MSG _INBOX.1")[-1]
        assert b'"domain":"d"' in answer.body
        client.send(b"PUB $JS.API.INFO _INBOX.2 0\r\n\r\n")

        assert client.read_until(b"HMSG _INBOX.2")[-1].body.startswith(b"NATS/1.0 503")
