"""A listing of the plane costs each turn a bounded number of looks and bytes."""

from __future__ import annotations

import random

import pytest

from framework.dataplane import Listed, link_rows, subscription_rows

ROWS_MAX = 512
LINKS_MAX = 256
LOOKS_MAX = 2_048
BYTES_MAX = 64 * 1024


def subscribe(client, names, *, first=1):
    client.say(b"".join(b"SUB %b %d\r\n" % (name, at) for at, name in enumerate(names, first)))


def next_slice(talk, listing=1):
    talk.core.next_rows(0, listing)
    talk.turn()
    return talk.of(Listed)[-1]


@pytest.mark.parametrize("links", [1, 40])
def test_a_slice_is_a_bounded_part(talk, links):
    clients = [talk.client() for _ in range(links)]
    for number, client in enumerate(clients):
        subscribe(client, [b"a.%d.%d" % (number, at) for at in range(20_000 // links)])
    slices = talk.listed()
    subjects = [row.subject for it in slices for row in subscription_rows(it.data)]

    assert len(subjects) == len(set(subjects)) == 20_000
    assert max(len(subscription_rows(it.data)) for it in slices) <= ROWS_MAX
    assert max(len(it.data) for it in slices) <= BYTES_MAX + 256
    assert slices[-1].matched == 20_000


def test_long_subjects_fill_a_slice_by_their_bytes(talk):
    client = talk.client()
    subscribe(client, [b"%b.%d" % (b"x" * 3_000, at) for at in range(200)])
    slices = talk.listed()

    assert max(len(it.data) for it in slices) <= BYTES_MAX + 3_200
    assert sum(len(subscription_rows(it.data)) for it in slices) == 200


def test_what_is_looked_at_in_vain_is_bounded_as_well(talk):
    client = talk.client()
    subscribe(client, [b"a.%d" % at for at in range(10_000)])
    slices = talk.listed(subject=b"other")

    assert len(slices) >= 10_000 / LOOKS_MAX
    assert [it.data for it in slices if it.data] == []
    assert slices[-1].matched == 0


def test_a_count_and_what_stands_before_a_page_are_not_walked(talk):
    clients = [talk.client() for _ in range(3)]
    for client in clients:
        subscribe(client, [b"a.%d" % at for at in range(20_000)])

    (counted,) = talk.listed(limit=0)
    assert counted.matched == 60_000
    (page,) = talk.listed(offset=40_000, limit=1)
    assert len(subscription_rows(page.data)) == 1


def test_links_come_in_slices(talk):
    for _ in range(1_000):
        talk.stranger()
    slices = talk.listed(links=True)
    cids = [row.cid for it in slices for row in link_rows(it.data)]

    assert sorted(cids) == list(range(1, 1_001))
    assert max(len(link_rows(it.data)) for it in slices) <= LINKS_MAX


def test_pages_agree_with_a_plain_list(talk):
    rng = random.Random(5)
    for _ in range(5):
        client = talk.client()
        words = [b".".join(rng.choices([b"a", b"b", b"*"], k=2)) for _ in range(700)]
        subscribe(client, words)
    everything = talk.subscriptions()
    for _ in range(50):
        offset, limit = rng.randrange(4_000), rng.randrange(1, 2_000)
        assert talk.subscriptions(offset=offset, limit=limit) == everything[offset:][:limit]


def test_what_ends_while_it_is_listed_is_passed_over(talk):
    """Whatever is unsubscribed between two slices: what stays is there, and once."""
    client = talk.client()
    subscribe(client, [b"a.%d" % at for at in range(3_000)])
    talk.core.open_listing(1)
    seen = [row.sid for row in subscription_rows(next_slice(talk).data)]
    # Among these are the one that comes next, and those around it.
    following = range(3_000 - len(seen) - 300, 3_000 - len(seen) + 300)
    client.say(b"".join(b"UNSUB %d\r\n" % at for at in following))
    while (it := next_slice(talk)).more or it.data:
        seen += [row.sid for row in subscription_rows(it.data)]
        if not it.more:
            break
    gone = {b"%d" % at for at in following}
    expected = {b"%d" % at for at in range(1, 3_001)} - gone

    assert len(seen) == len(set(seen))
    assert expected <= set(seen)


def test_a_client_that_goes_while_it_is_listed_ends_its_part(talk):
    gone, stays = talk.client(), talk.client()
    subscribe(gone, [b"gone.%d" % at for at in range(3_000)])
    subscribe(stays, [b"stays.%d" % at for at in range(10)])
    talk.core.open_listing(1)
    next_slice(talk)
    talk.core.hang_up(gone.link)
    talk.turn()
    rest = next_slice(talk)

    assert {row.link for row in subscription_rows(rest.data)} == {stays.link}
    assert not rest.more


def test_a_listing_that_is_closed_or_unknown_has_no_rows(talk):
    client = talk.client()
    subscribe(client, [b"a.%d" % at for at in range(3_000)])
    talk.core.open_listing(1)
    assert next_slice(talk).more
    talk.core.close_listing(1)
    it = next_slice(talk)

    assert (it.data, it.more) == (b"", False)
