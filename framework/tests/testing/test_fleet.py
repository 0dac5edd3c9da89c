"""What tests of several servers stand on."""

from __future__ import annotations

from framework.testing import free_port


def test_no_port_comes_twice_in_a_while():
    ports = [free_port() for _ in range(2_000)]

    assert len(set(ports)) == len(ports)
