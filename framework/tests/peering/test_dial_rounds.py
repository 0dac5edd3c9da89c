from __future__ import annotations

from framework.peering import DialRounds, PeerUrl

URLS = [PeerUrl(host, 7222) for host in ("a", "b", "c")]


def test_urls_are_tried_in_order_until_one_answers():
    rounds = DialRounds()

    assert rounds.begin(7, URLS) == URLS[0]
    assert rounds.receive_failed(7) == URLS[1]
    assert rounds.end(7) == URLS[1]
    assert rounds.end(7) is None


def test_a_round_ends_with_its_urls():
    rounds = DialRounds()
    rounds.begin(7, URLS[:1])

    assert rounds.receive_failed(7) is None
    assert rounds.end(7) is None


def test_rounds_do_not_know_of_each_other():
    rounds = DialRounds()
    rounds.begin(1, URLS)
    rounds.begin(2, URLS)
    rounds.receive_failed(1)

    assert rounds.end(2) == URLS[0]
    assert rounds.receive_failed(1) == URLS[2]
