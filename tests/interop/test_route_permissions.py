"""`cluster { permissions }`: whose interest is told to others, and whose is taken."""

from __future__ import annotations

from itertools import count

import pytest

from framework.testing import await_answer, await_pools, route_rows
from tests.interop.pairs import check_passes, log_in

BEFORE = """permissions {
  import: { deny: "private.>" }
  export: { deny: ["hidden.>", "kept"] }
}"""
AFTER = """permissions {
  import: { allow: [">"], deny: "secret.>" }
  export: { deny: "kept" }
}"""
NUMBERS = count()


def is_reached(publishing, subscribing, subject):
    """Tell whether a message reaches a subscriber at the other server, and nobody else has it."""
    mark = b"mark.%d" % next(NUMBERS)  # one that was used before may be known there still
    with (
        log_in(subscribing, "A", subject + b" 1", mark + b" 2") as subscriber,
        log_in(publishing, "A", b"_INBOX.x 3") as publisher,
    ):
        publisher.await_interest(mark)
        publisher.send(b"PUB %b _INBOX.x 1\r\nx\r\nPUB %b 3\r\nend\r\n" % (subject, mark))
        got = [it.subject for it in subscriber.read_until(b"MSG %b 2 3" % mark) if it.body == b"x"]
        refused = [it for it in publisher.messages() if it.verb == b"HMSG"]

        assert bool(got) != bool(refused)
        return bool(got)


@pytest.fixture(params=[0, 1], ids=["dialed", "dialing"])
def limited(request):
    return request.param


@pytest.fixture
def sides(start_pair, limited):
    pair = start_pair([BEFORE, ""] if limited == 0 else ["", BEFORE])
    await_pools(*pair)
    return pair, pair.servers[limited], pair.servers[1 - limited]


def reached(here, there):
    """Return what comes to the limited server, and what comes from it."""
    subjects = (b"private.x", b"secret.x", b"hidden.x", b"open.x")
    return (
        {subject for subject in subjects if is_reached(there, here, subject)},
        {subject for subject in subjects if is_reached(here, there, subject)},
    )


def test_interest_is_told_and_taken_as_they_say_and_a_reload_changes_it_in_place(sides, limited):
    pair, here, there = sides
    rids = [row["rid"] for row in route_rows(here)]

    assert (
        {b"secret.x", b"hidden.x", b"open.x"},
        {b"private.x", b"secret.x", b"open.x"},
    ) == reached(here, there)
    with (
        log_in(here, "A", b"private.now 1", b"secret.now 2") as near,
        log_in(there, "A", b"hidden.now 1", b"mark 2") as far,
        log_in(here) as publisher_here,
        log_in(there) as publisher_there,
    ):
        publisher_there.await_interest(b"secret.now")
        publisher_here.await_interest(b"mark")
        pair.reload(limited, AFTER)
        publisher_there.await_interest(b"private.now")
        publisher_here.await_interest(b"hidden.now")
        near.read_until(b"MSG private.now")
        far.read_until(b"MSG hidden.now")

    assert (
        {b"private.x", b"hidden.x", b"open.x"},
        {b"private.x", b"secret.x", b"hidden.x", b"open.x"},
    ) == reached(here, there)
    assert rids == [row["rid"] for row in route_rows(here)]
    check_passes(*pair, "RED")


def test_the_other_end_shows_them_until_there_are_none(sides, limited):
    pair, here, there = sides
    rows = route_rows(there)

    assert {"deny": ["private.>"]} == rows[-1]["import"]
    assert {"deny": ["hidden.>", "kept"]} == rows[-1]["export"]
    assert all("import" not in row and "export" not in row for row in route_rows(here))
    pair.reload(limited, AFTER)
    await_answer(
        there,
        lambda: [row.get("import") for row in route_rows(there) if "account" not in row],
        [{"allow": [">"], "deny": ["secret.>"]}].__mul__(3).__eq__,
    )
    pair.reload(limited, "")
    with log_in(here, "A", b"private.now 1"), log_in(there) as publisher:
        publisher.await_interest(b"private.now")
    everything = {b"private.x", b"secret.x", b"hidden.x", b"open.x"}

    assert (everything, everything) == reached(here, there)
