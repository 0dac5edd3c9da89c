from __future__ import annotations

import socket

import pytest

from framework.server.listening import ListenError, bind_address


def test_any_free_port() -> None:
    with bind_address("127.0.0.1", -1, "client connections") as bound:
        with socket.create_connection(("127.0.0.1", bound.port), timeout=5):
            pass

        assert bound.port > 0
        assert bound.address == f"127.0.0.1:{bound.port}"


def test_a_wildcard_takes_both_families() -> None:
    with bind_address("0.0.0.0", 0, "client connections") as bound:
        for host in ["127.0.0.1", "::1"] if socket.has_dualstack_ipv6() else ["127.0.0.1"]:
            with socket.create_connection((host, bound.port), timeout=5):
                pass


def test_a_name_means_its_ipv4_address() -> None:
    with bind_address("localhost", 0, "client connections") as bound:
        assert bound.sock.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use() -> None:
    with bind_address("127.0.0.1", 0, "client connections") as bound:
        with pytest.raises(ListenError) as caught:
            bind_address("127.0.0.1", bound.port, "route connections")

        assert str(caught.value) == (
            f"can't listen for route connections on 127.0.0.1:{bound.port}: "
            "address already in use; stop who uses it, or choose another port"
        )


@pytest.mark.parametrize("host", ["999.999.999.999", "no such host", "x" * 300, "a..b"])
def test_a_host_that_is_none(host: str) -> None:
    with pytest.raises(ListenError, match="no such host; write an address"):
        bind_address(host, 0, "client connections")


def test_an_address_of_another_machine() -> None:
    with pytest.raises(ListenError, match="no interface of this machine has it"):
        bind_address("192.0.2.250", 0, "client connections")
