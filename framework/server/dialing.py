"""Connecting to other servers: names are resolved in threads, all addresses are tried."""

from __future__ import annotations

import asyncio
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

from framework.server.limits import DIAL_THREADS_MAX
from framework.server.listening import encoded_host, joined_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.server.plane_port import ServerPlane
    from framework.server.tls import TlsDesk
    from framework.spec import LinkKind

    _Address: TypeAlias = tuple[socket.AddressFamily, tuple[Any, ...]]


class Dialer:
    """Connect sockets and hand them to the plane.

    Args:
        plane: Adopts what was connected; the owner of the kind hears `Opened` from it.
        report: Told (kind, token, error) of what did not come about.
        tls: Secures what was connected, where its kind speaks TLS; None: nothing does.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        report: Callable[[LinkKind, int, str], None],
        tls: TlsDesk | None = None,
    ) -> None:
        self._plane = plane
        self._tls = tls
        self._report = report
        self._resolvers = ThreadPoolExecutor(DIAL_THREADS_MAX, thread_name_prefix="resolve")
        self._dials: set[asyncio.Task[None]] = set()

    def dial(
        self,
        host: str,
        port: int,
        kind: LinkKind,
        token: int,
        timeout_s: float,
        *,
        tls_name: str = "",
    ) -> None:
        """Begin to connect; the end is told to the owner of `kind`.

        The certificate of a server that speaks TLS must be for `tls_name`; empty: `host`.
        """
        assert timeout_s > 0
        task = asyncio.get_running_loop().create_task(
            self._dial(host, port, kind, token, timeout_s, tls_name or host)
        )
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    async def stop(self) -> None:
        """Give up what is under way; nobody is told."""
        for dial in self._dials:
            dial.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        self._resolvers.shutdown(wait=False, cancel_futures=True)

    async def _dial(  # noqa: PLR0917 - all that a dial is told
        self, host: str, port: int, kind: LinkKind, token: int, timeout_s: float, tls_name: str
    ) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                addresses = await self._resolve(host, port)
                sock, peer = await _connect_any(addresses, timeout_s / len(addresses))
            if self._tls and self._tls.terms(kind):
                sock = await self._tls.secure(sock, kind, token, tls_name)
        except TimeoutError:
            self._report(kind, token, f"dial tcp {joined_address(host, port)}: i/o timeout")
        except OSError as error:
            self._report(kind, token, str(error))
        else:
            with sock:
                self._plane.adopt(sock, kind, token, peer=peer)

    async def _resolve(self, host: str, port: int) -> Sequence[_Address]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(
                self._resolvers,
                lambda: socket.getaddrinfo(encoded_host(host), port, type=socket.SOCK_STREAM),
            )
        except (OSError, UnicodeError) as error:
            raise OSError(f"lookup {host}: {getattr(error, 'strerror', error)}") from error
        return [(family, address) for family, _, _, _, address in found]


async def _connect_any(
    addresses: Sequence[_Address], timeout_s: float
) -> tuple[socket.socket, tuple[str, int]]:
    """Connect to the first address that answers, each within `timeout_s`.

    Returns:
        The socket; and its address, since who hangs up at once has none any more.
    """
    problems = []
    for family, address in addresses:
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.get_running_loop().sock_connect(sock, address)
        except (OSError, TimeoutError) as error:
            sock.close()
            problems.append(f"dial tcp {joined_address(*address[:2])}: {_problem_text(error)}")
        except BaseException:
            sock.close()
            raise
        else:
            return sock, (address[0], address[1])
    raise OSError("; ".join(dict.fromkeys(problems)))


def _problem_text(error: OSError) -> str:
    if error.errno is None:
        return "i/o timeout"
    return f"connect: {os.strerror(error.errno).lower()}"
