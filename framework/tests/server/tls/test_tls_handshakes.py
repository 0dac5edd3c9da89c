"""TLS handshakes that nobody waits for any more."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
import structlog

from framework.server.tls import TlsHandshakes
from framework.server.tls.terms import KindTerms
from framework.spec import LinkKind
from framework.tests.server.tls.conftest import Outcome
from framework.tests.sockets import WAIT_S, tcp_pair


@pytest.fixture
def handshakes(settings):
    handshakes = TlsHandshakes(SimpleNamespace(set_tls=lambda *_: None), log=structlog.get_logger())
    handshakes.configure(LinkKind.ROUTE, KindTerms(settings))
    yield handshakes
    asyncio.run(handshakes.stop(WAIT_S))


@pytest.fixture
def serve(handshaker, settings):
    """Serve the other end of a dial, and see how it is closed."""

    def shake(there):
        there.settimeout(0)
        served = Outcome()
        handshaker.shake(there, KindTerms(settings).for_accepted(is_first=False), served)
        return served

    return shake


def await_end(served):
    with served.get().sock as sock:
        sock.settimeout(WAIT_S)
        assert sock.recv(1) == b""


def test_a_dial_that_ends_after_the_server_leaves_no_socket(handshakes, serve):
    here, there = tcp_pair()

    async def begin():
        handshakes.start()
        securing = handshakes.secure(here, LinkKind.ROUTE, 1, "localhost")
        securing.send(None)
        return securing

    securing = asyncio.run(begin())

    await_end(serve(there))
    securing.close()


def test_a_dial_that_is_given_up_as_it_ends_leaves_no_socket(handshakes, serve):
    here, there = tcp_pair()

    async def dial():
        handshakes.start()
        securing = handshakes.secure(here, LinkKind.ROUTE, 1, "localhost")
        outcome = securing.send(None)
        served = serve(there)
        await asyncio.wait([outcome], timeout=WAIT_S)
        with pytest.raises(asyncio.CancelledError):
            securing.throw(asyncio.CancelledError())
        return served

    await_end(asyncio.run(dial()))
