"""What the desk does with handshakes that nobody waits for any more."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import structlog

from framework.server.tls import TlsDesk
from framework.server.tls.terms import KindTerms
from framework.spec import LinkKind
from framework.tests.server.tls.conftest import Outcome
from framework.tests.sockets import WAIT_S, tcp_pair


def test_a_dial_that_ends_after_the_server_leaves_no_socket(handshaker, settings):
    plane = SimpleNamespace(set_tls=lambda *_: None)
    desk = TlsDesk(plane, log=structlog.get_logger())
    desk.configure(LinkKind.ROUTE, KindTerms(settings))
    here, there = tcp_pair()
    there.settimeout(0)

    async def begin():
        desk.start()
        securing = desk.secure(here, LinkKind.ROUTE, 1, "localhost")
        securing.send(None)
        return securing

    securing = asyncio.run(begin())
    served = Outcome()
    handshaker.shake(there, KindTerms(settings).for_accepted(is_first=False), served)
    with served.get().sock as sock:
        sock.settimeout(WAIT_S)

        assert sock.recv(1) == b""
    securing.close()
    asyncio.run(desk.stop(WAIT_S))
