"""Where clients of a cluster are sent: what is known, told, and taken out."""

from __future__ import annotations

import pytest
from framework_websocket.connect_urls import ConnectUrls
from framework_websocket.limits import CONNECT_URL_LENGTH_MAX, CONNECT_URLS_MAX

OWN = ("own:1", "own:2")


@pytest.fixture
def urls():
    return ConnectUrls(OWN, is_advertised=True)


def receive(urls, server_id, *said, is_lame_duck=False):
    return urls.receive_peer(server_id, list(said), is_lame_duck=is_lame_duck)


def test_a_server_alone_tells_nothing(urls):
    assert receive(urls, "A") is None
    assert urls.advertised == OWN


def test_others_stand_behind_this_one_each_once(urls):
    assert receive(urls, "A", "a:1", "both:1") == (*OWN, "a:1", "both:1")
    assert receive(urls, "B", "both:1", "b:1") == (*OWN, "a:1", "both:1", "b:1")
    assert receive(urls, "B", "both:1", "b:1") is None
    assert receive(urls, "A") == (*OWN, "both:1", "b:1")
    assert receive(urls, "B") == OWN


def test_a_lame_duck_is_taken_out(urls):
    receive(urls, "A", "a:1")

    assert receive(urls, "A", "a:1", is_lame_duck=True) == OWN
    assert receive(urls, "B", "b:1") == (*OWN, "b:1")
    assert urls.begin_lame_duck() == ("b:1",)
    assert urls.advertised == ()
    assert receive(urls, "B") == ()


def test_nobody_is_told_where_it_is_not_advertised(urls):
    assert receive(urls, "A", "a:1") == (*OWN, "a:1")
    assert urls.set_advertised(False) == OWN
    assert urls.advertised == ()
    assert receive(urls, "B", "b:1") is None
    assert urls.set_advertised(True) == (*OWN, "a:1", "b:1")


@pytest.mark.parametrize(
    "said", [None, 7, "a:1", {"a": 1}, [7, None, ["a:1"]], ["a\n:1"], ["a" * 256]]
)
def test_what_is_no_list_of_urls_is_none(urls, said):
    assert urls.receive_peer("A", said, is_lame_duck=False) is None


def test_a_server_tells_so_many_at_most(urls):
    said = [f"{at}:{'9' * CONNECT_URL_LENGTH_MAX}"[:CONNECT_URL_LENGTH_MAX] for at in range(1_000)]

    assert len(receive(urls, "A", *said)) == len(OWN) + CONNECT_URLS_MAX
