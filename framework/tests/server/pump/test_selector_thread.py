from __future__ import annotations

import socket
import threading
from selectors import EVENT_READ

import pytest

from framework.server.pump.selector_thread import SelectorThread
from framework.tests.sockets import WAIT_S


@pytest.fixture
def errors():
    return []


@pytest.fixture
def thread(errors):
    thread = SelectorThread("test", failed=errors.append)
    thread.start()
    yield thread

    assert thread.stop(WAIT_S)


def flag():
    event = threading.Event()
    return event.set, lambda: event.wait(WAIT_S)


def test_calls_are_made_in_their_order(thread):
    order = []
    done, wait = flag()
    for number in range(100):
        thread.call(lambda number=number: order.append(number))
    thread.call(done)

    assert wait()
    assert order == list(range(100))


def test_a_socket_is_watched_until_it_is_not(thread):
    ours, theirs = socket.socketpair()
    done, wait = flag()
    seen = []

    def ready():
        seen.append(ours.recv(1))
        thread.watch(ours, 0, ready)
        thread.watch(ours, 0, ready)
        done()

    with ours, theirs:
        thread.call(lambda: thread.watch(ours, EVENT_READ, ready))
        theirs.sendall(b"ab")

        assert wait()

        done, wait = flag()
        thread.call(done)

        assert wait()
    assert seen == [b"a"]


def test_alarms_ring_in_the_order_of_their_times(thread):
    order = []
    done, wait = flag()

    def begin():
        thread.call_later(0.02, done)
        thread.call_later(0.01, lambda: order.append("second"))
        thread.call_later(0.0, lambda: order.append("first"))
        thread.call_later(0.0, lambda: order.append("never")).cancel()

    thread.call(begin)

    assert wait()
    assert order == ["first", "second"]


def test_an_error_is_told_and_the_thread_goes_on(thread, errors):
    error = ValueError("x")

    def fail():
        raise error

    done, wait = flag()
    thread.call(fail)
    thread.call(done)

    assert wait()
    assert errors == [error]


def test_a_thread_that_hangs_is_left():
    hold, begun = threading.Event(), threading.Event()
    thread = SelectorThread("test", failed=print)
    thread.start()
    thread.call(lambda: (begun.set(), hold.wait(WAIT_S)))

    assert begun.wait(WAIT_S)
    assert not thread.stop(0.01)

    hold.set()

    assert thread.stop(WAIT_S)


def test_a_stop_may_come_twice_or_before_the_start():
    thread = SelectorThread("test", failed=print)

    assert thread.stop(WAIT_S)
    assert thread.stop(WAIT_S)
