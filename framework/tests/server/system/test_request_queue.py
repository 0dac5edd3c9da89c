from __future__ import annotations

from framework.server.system.request_queue import RequestQueue


def queue_of(
    *, waiting_max: int = 100, at_once: int = 4, at_once_each: int = 2
) -> RequestQueue[str]:
    return RequestQueue(waiting_max=waiting_max, at_once=at_once, at_once_each=at_once_each)


def taken(queue: RequestQueue[str]) -> list[str]:
    """Return what may begin now."""
    requests = []
    while (it := queue.take()) is not None:
        requests.append(it[1])
    return requests


def test_askers_take_turns_and_have_a_share_each() -> None:
    queue = queue_of()
    queue.put("a", ["a1", "a2", "a3", "a4"])
    queue.put("b", ["b1"])
    queue.put("c", ["c1"])

    assert taken(queue) == ["a1", "b1", "c1", "a2"]
    queue.finish("b")
    assert taken(queue) == []
    queue.finish("a")
    assert taken(queue) == ["a3"]
    assert len(queue) == 1


def test_one_who_asks_much_leaves_room_for_others() -> None:
    queue = queue_of(at_once_each=3)
    queue.put("a", [f"a{it}" for it in range(50)])

    assert taken(queue) == ["a0", "a1", "a2"]
    queue.put("b", ["b0"])
    assert taken(queue) == ["b0"]


def test_who_has_the_most_loses_the_latest() -> None:
    queue = queue_of(waiting_max=10)

    assert queue.put("a", [f"a{it}" for it in range(9)]) == 0
    assert queue.put("b", ["b0", "b1", "b2", "b3"]) == 3
    assert queue.put("c", [f"c{it}" for it in range(20)]) == 20
    assert len(queue) == 10


def test_nothing_waits_any_more() -> None:
    queue = queue_of()
    queue.put("a", ["a1"])
    queue.clear()

    assert taken(queue) == []
    assert len(queue) == 0
