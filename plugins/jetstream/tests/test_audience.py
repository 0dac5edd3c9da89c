"""What nobody hears is not made."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from framework_jetstream.advisories import AUDIT, Advisories
from framework_jetstream.api.asker import Asker
from framework_jetstream.audience import WATCHED_MAX, Audience

NOBODY, SOMEBODY = False, True
NUMBERS = {f"A{number}": number for number in range(WATCHED_MAX + 1)}


@pytest.fixture
def watched():
    """Return what is told of interest, by the number of an account."""
    return {}


@pytest.fixture
def audience(watched):
    def watch(account, subject, heard):
        assert subject == AUDIT
        assert account not in watched
        watched[account] = heard

    return Audience(watch, NUMBERS.__getitem__, AUDIT)


def test_what_is_not_known_yet_counts_as_interest(audience, watched):
    assert audience.is_there("A1")
    assert audience.is_there("A1")
    assert list(watched) == [1]


def test_interest_is_followed_in_each_account(audience, watched):
    for name in ("A1", "A2"):
        audience.is_there(name)
    watched[1](NOBODY)

    assert not audience.is_there("A1")
    assert audience.is_there("A2")
    watched[1](SOMEBODY)
    assert audience.is_there("A1")


def test_of_too_many_accounts_somebody_may_hear_always(audience, watched):
    for name in NUMBERS:
        audience.is_there(name)
    for heard in watched.values():
        heard(NOBODY)

    assert len(watched) == WATCHED_MAX
    assert [name for name in NUMBERS if audience.is_there(name)] == [f"A{WATCHED_MAX}"]


@pytest.mark.parametrize("is_heard", [False, True])
def test_audits_are_made_where_they_are_heard(is_heard):
    said = []
    advisories = Advisories(
        lambda *it: said.append(it[:2]),
        server="n1",
        domain="",
        ids=SimpleNamespace(next=lambda: "id"),
        clock=lambda: 1,
        is_audited=lambda account: is_heard and account == "A",
    )
    for account in ("A", "B"):
        advisories.audit(Asker(account, {}), "$JS.API.INFO", b"", b"{}")

    assert said == [("A", AUDIT)] * is_heard
