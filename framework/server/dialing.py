"""Dial other servers: names are resolved in threads, all addresses are tried.

The addresses of a name have an order that is the same everywhere. Where servers have one name for
all of them, each dials the first one that is there and not itself, so nobody is left alone; if each
chose by chance, as nats-server does, four of them could become two pairs.

Source: nats-server `server.go`, `getRandomIP`.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from framework.server.limits import DIAL_THREADS_MAX, RESOLVE_TIMEOUT_S
from framework.server.listening import encoded_host, joined_address
from framework.server.transports.limits import RECEIVE_BYTES
from framework.spec import Admitted, ChannelStage, DialFailed, TurnedAway

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from framework.server.plane_port import ServerPlane
    from framework.server.tls import TlsHandshakes
    from framework.spec import DialHandshake, LinkKind, TlsSettings

    _Address: TypeAlias = tuple[socket.AddressFamily, tuple[Any, ...]]


_TUNNEL_RECEIVE_BYTES = 1
"""What comes behind the answer of who leads on belongs to TLS, or to the link."""


class _Order(Struct, frozen=True):
    """What is dialed, as `Dialer.dial` was told."""

    host: str
    port: int
    kind: LinkKind
    token: int
    timeout_s: float
    tls: TlsSettings | None
    tls_name: str
    is_plain: bool
    avoided: Collection[str]
    turn: int
    tunnel: DialHandshake | None
    handshake: DialHandshake | None


class _NoneLeftError(Exception):
    """All addresses of a host are to be avoided."""


class Dialer:
    """Dial, and hand the connected socket to the data plane.

    Args:
        plane: Adopts what was connected; the owner of the kind hears `Opened` from it.
        report: Told for the owner of a kind of what did not come about.
        tls: Secures what was connected, where its kind or the dial speaks TLS; None: nothing does.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        report: Callable[[LinkKind, DialFailed], None],
        tls: TlsHandshakes | None = None,
    ) -> None:
        self._plane = plane
        self._tls = tls
        self._report = report
        self._resolvers: ThreadPoolExecutor | None = None
        """Threads that come with the first dial."""
        self._dials: set[asyncio.Task[None]] = set()

    def dial(
        self,
        host: str,
        port: int,
        kind: LinkKind,
        token: int,
        timeout_s: float,
        *,
        tls: TlsSettings | None = None,
        tls_name: str = "",
        is_plain: bool = False,
        avoided: Collection[str] = (),
        turn: int = 0,
        tunnel: DialHandshake | None = None,
        handshake: DialHandshake | None = None,
    ) -> None:
        """Begin to dial; the owner of `kind` gets `Opened` or `DialFailed`.

        Arguments as those of `ServerContext.dial`.
        """
        assert timeout_s > 0
        name = tls_name or host
        order = _Order(
            host,
            port,
            kind,
            token,
            timeout_s,
            tls,
            name,
            is_plain,
            avoided,
            turn,
            tunnel,
            handshake,
        )
        task = asyncio.get_running_loop().create_task(self._dial(order))
        self._dials.add(task)
        task.add_done_callback(self._dials.discard)

    async def stop(self) -> None:
        """Give up what is under way; nobody is told."""
        for dial in self._dials:
            dial.cancel()
        await asyncio.gather(*self._dials, return_exceptions=True)
        if self._resolvers:
            self._resolvers.shutdown(wait=False, cancel_futures=True)

    async def _dial(self, order: _Order) -> None:
        kind, token = order.kind, order.token
        try:
            addresses = _in_order(await self._resolve(order.host, order.port), order)
            sock, peer = await _connect_any(addresses, order.timeout_s / len(addresses))
            await self._shake(sock, order, order.tunnel, _TUNNEL_RECEIVE_BYTES)
            if self._tls and not order.is_plain and (order.tls or self._tls.terms(kind)):
                sock = await self._tls.secure(sock, kind, token, order.tls_name, own=order.tls)
            admitted = await self._shake(sock, order, order.handshake, RECEIVE_BYTES)
        except _NoneLeftError:
            error = f"lookup {order.host}: no other address"
            self._report(kind, DialFailed(token, error, none_left=True))
        except OSError as error:
            self._report(kind, DialFailed(token, str(error)))
        else:
            with sock:
                stages = [it for it in admitted.stages or () if not isinstance(it, ChannelStage)]
                self._plane.adopt(sock, kind, token, peer=peer, stages=stages, left=admitted.left)

    async def _shake(
        self, sock: socket.socket, order: _Order, handshake: DialHandshake | None, at_a_time: int
    ) -> Admitted:
        """Do a handshake that a dial has, if it has one; the socket is closed if that fails.

        Args:
            sock: Connected.
            order: The dial.
            handshake: None: it has none.
            at_a_time: How many bytes are read.

        Raises:
            OSError: It failed.
        """
        if handshake is None:
            return Admitted()
        try:
            async with asyncio.timeout(order.timeout_s):
                return await _shaken(sock, handshake, at_a_time)
        except BaseException as error:
            sock.close()
            if self._tls:
                self._tls.forget_dialed(order.kind, order.token)
            if isinstance(error, TimeoutError):
                raise OSError("handshake timeout") from None
            if isinstance(error, Exception) and not isinstance(error, OSError):
                raise OSError(f"{type(error).__name__}: {error}") from error  # a plugin's code
            raise

    async def _resolve(self, host: str, port: int) -> Sequence[_Address]:
        """Return the addresses of a host; at least one.

        Raises:
            OSError: There is none, or nobody has said so in time.
        """
        loop = asyncio.get_running_loop()
        if self._resolvers is None:
            self._resolvers = _resolver_threads()
        try:
            async with asyncio.timeout(RESOLVE_TIMEOUT_S):
                found = await loop.run_in_executor(
                    self._resolvers,
                    lambda: socket.getaddrinfo(encoded_host(host), port, type=socket.SOCK_STREAM),
                )
        except TimeoutError:
            raise OSError(f"lookup {host}: i/o timeout") from None
        except (OSError, UnicodeError) as error:
            raise OSError(f"lookup {host}: {getattr(error, 'strerror', error)}") from error
        return [(family, address) for family, _, _, _, address in found]


def _resolver_threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - many servers never dial

    return ThreadPoolExecutor(DIAL_THREADS_MAX, thread_name_prefix="resolve")


def _in_order(addresses: Sequence[_Address], order: _Order) -> Sequence[_Address]:
    """Return the addresses that are to be tried: IPv4 first, then as their texts sort.

    Raises:
        _NoneLeftError: There is none.
    """
    left = [it for it in addresses if it[1][0] not in order.avoided]
    if not left:
        raise _NoneLeftError
    left.sort(key=lambda it: (it[0] is not socket.AF_INET, it[1][0]))
    first = order.turn % len(left)
    return [*left[first:], *left[:first]]


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


async def _shaken(sock: socket.socket, handshake: DialHandshake, at_a_time: int) -> Admitted:
    """Return what a handshake comes to.

    Raises:
        OSError: The peer got it wrong, or has hung up.
    """
    loop = asyncio.get_running_loop()
    sock.settimeout(0)
    await loop.sock_sendall(sock, handshake.begin())
    while True:
        data = await loop.sock_recv(sock, at_a_time)
        step = handshake.receive(data) if data else TurnedAway(problem="connection closed")
        if isinstance(step, Admitted):
            return step
        if step is not None:
            raise OSError(step.problem)


def _problem_text(error: OSError) -> str:
    if error.errno is None:
        return "i/o timeout"
    return f"connect: {os.strerror(error.errno).lower()}"
