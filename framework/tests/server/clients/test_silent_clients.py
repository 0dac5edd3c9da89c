from __future__ import annotations

from framework.server.clients.silent_clients import SilentClients


def silent(*clients: tuple[int, str]) -> SilentClients:
    them = SilentClients()
    for link, host in clients:
        them.add(link, host)
    return them


def test_the_oldest_goes_first() -> None:
    them = silent((1, "a"), (2, "b"), (3, "a"))

    assert them.oldest("c", share=9) == 1
    them.discard(1)
    assert them.oldest("c", share=9) == 2
    assert len(them) == 2


def test_an_address_with_more_than_its_share_makes_room_for_its_own() -> None:
    them = silent((1, "patient"), (2, "flood"), (3, "flood"), (4, "flood"))

    assert them.oldest("flood", share=3) == 2
    assert them.oldest("flood", share=4) == 1
    assert them.oldest("patient", share=3) == 1


def test_nobody_is_silent() -> None:
    them = silent((1, "a"))
    them.discard(1)
    them.discard(1)

    assert them.oldest("a", share=1) is None
