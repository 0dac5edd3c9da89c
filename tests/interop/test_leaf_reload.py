"""What a reload of a hub does to leaf nodes that have logged in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS, await_answer
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.testing import Fleet

REAL = "2.15.2"
KINDS = [(OURS, OURS), (OURS, REAL)]
"""Hub and leaf node; nats-server looks at leaf nodes again in the same cases."""
USERS = """
accounts {
  A { users [ { user: a, password: x } ] }
  B { users [ { user: b, password: x }, { user: l, password: p } ] }
}
"""
LEAF = "authorization { users [ { user: l, password: p, account: B } ] }"


@pytest.fixture(params=parameters(KINDS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture(params=["clients", "leaf nodes"])
def login(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """Return what differs: users of clients, or of leaf nodes."""
    if request.param == "clients":
        return {"block": "", "more": USERS}
    return {"block": LEAF, "more": USERS.replace(", { user: l, password: p }", "")}


def reload(star: Star, old: str, new: str) -> None:
    config = star.config("hub")
    assert old in config
    star.servers["hub"].reload(config.replace(old, new))


def test_who_is_not_known_any_more_is_closed(
    kinds: tuple[str, str], fleet: Fleet, login: Mapping[str, str]
) -> None:
    hub, leaf = kinds
    with Star(
        fleet, hub, [leaf], block=login["block"], login="l:p@", more={"hub": login["more"]}
    ) as star:
        star.check("hub", "leaf0", by="b", to="")
        reload(star, "user: l, password: p", "user: l, password: other")
        star.servers["leaf0"].wait_log("Authorization Violation")
        await_answer(star.servers["hub"], lambda: star.leafz("hub")["leafs"], lambda it: not it)

        star.servers["hub"].reload(star.config("hub"))
        star.check("hub", "leaf0", by="b", to="")


def test_who_is_still_the_same_stays(
    kinds: tuple[str, str], fleet: Fleet, login: Mapping[str, str]
) -> None:
    hub, leaf = kinds
    with Star(
        fleet, hub, [leaf], block=login["block"], login="l:p@", more={"hub": login["more"]}
    ) as star:
        star.check("hub", "leaf0", by="b", to="")
        before = [it["id"] for it in star.leafz("hub")["leafs"]]
        reload(star, "user: a, password: x", "user: a, password: y")
        star.check("hub", "leaf0", by="b", to="")

        assert [it["id"] for it in star.leafz("hub")["leafs"]] == before


def test_who_is_in_another_account_comes_back_to_it(kinds: tuple[str, str], fleet: Fleet) -> None:
    hub, leaf = kinds
    with Star(fleet, hub, [leaf], block=LEAF, login="l:p@", more={"hub": USERS}) as star:
        star.check("hub", "leaf0", by="b", to="")
        reload(star, "account: B }", "account: A }")
        star.check("hub", "leaf0", by="a", to="")

        assert [it["account"] for it in star.leafz("hub")["leafs"]] == ["A"]
