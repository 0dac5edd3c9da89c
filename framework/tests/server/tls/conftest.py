from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from framework.server.pump import Pump
from framework.server.tls.handshaker import Handshaker
from framework.spec import TlsSettings
from framework.testing.certificates import Authority
from framework.tests.sockets import WAIT_S

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Iterator


@pytest.fixture
def authority(tmp_path: Any) -> Authority:
    return Authority(tmp_path)


def make_settings(authority: Authority) -> TlsSettings:
    """Return those of a server that the authority vouches for."""
    issued = authority.issue("server")
    return TlsSettings(
        certificates=((str(issued.cert_file), str(issued.key_file)),),
        ca_file=str(authority.ca_file),
    )


@pytest.fixture
def settings(authority: Authority) -> TlsSettings:
    return make_settings(authority)


@pytest.fixture
def failures() -> Iterator[list[BaseException]]:
    found: list[BaseException] = []
    yield found

    assert not found


@pytest.fixture
def handshaker(failures: list[BaseException]) -> Iterator[Handshaker]:
    thread = Handshaker(failed=failures.append)
    thread.start()
    yield thread

    assert thread.stop(WAIT_S)


@pytest.fixture
def pump(failures: list[BaseException]) -> Iterator[Pump]:
    thread = Pump("tls", failed=failures.append)
    thread.start()
    yield thread

    assert thread.stop(WAIT_S)
    assert not thread.sessions


class Outcome:
    """Takes what a thread reports, and lets the test wait for it."""

    def __init__(self) -> None:
        self._came = threading.Event()
        self._found: Any = None

    def __call__(self, outcome: object) -> None:
        self._found = outcome
        self._came.set()

    def get(self) -> Any:
        assert self._came.wait(WAIT_S)
        return self._found


def secure(peer: socket.socket, context: ssl.SSLContext) -> Any:
    """Shake hands as a client in a thread of its own; `join` gives the TLS socket, or an error."""
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(context.wrap_socket(peer, server_hostname="localhost"))
        except OSError as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def join() -> Any:
        thread.join(WAIT_S)
        return result[0]

    return join
