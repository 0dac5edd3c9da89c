"""What tests of several servers stand on."""

from __future__ import annotations

from framework.testing import fleet, free_port


def test_no_port_comes_twice_in_a_while():
    ports = [free_port() for _ in range(2_000)]

    assert len(set(ports)) == len(ports)


def test_workers_share_no_port(monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    ports = []
    for worker in range(3):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", f"gw{worker}")
        monkeypatch.setattr(fleet, "_PORTS_LEFT", [])
        ports += {free_port() for _ in range(2_000)}

    assert len(set(ports)) == len(ports)
