"""Workers of a session that has ended."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
daemon = pytest.importorskip("pyspark_nats.worker_daemon")


@pytest.fixture
def pair(monkeypatch):
    """Return both ends of a worker's socket; its tasks are answered as PySpark's that went well."""
    here, there = socket.socketpair()
    monkeypatch.setattr(daemon, "_work", lambda sock, _: int(sock.recv(9) != b"task"))
    with here, there:
        yield here, there


def test_a_worker_takes_the_task_that_comes(pair):
    here, there = pair
    there.sendall(b"task")

    assert daemon.work(here, authenticated=True) == 0


def test_a_worker_whose_session_has_ended_is_not_used_again(pair):
    here, there = pair
    there.close()

    assert daemon.work(here, authenticated=True) == daemon.ENDED
