"""Bind the addresses of a server before any is announced."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct
from typing_extensions import override

from framework.errors import FrameworkError
from framework.server.limits import LISTEN_BACKLOG

if TYPE_CHECKING:
    from types import TracebackType

_WILDCARDS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - names, not a choice


class ListenError(FrameworkError):
    """An address can't be listened on.

    Args:
        purpose: What for, such as `client connections`.
        address: `host:port` as configured.
        problem: What is wrong.
        fix: What to do about it.
    """

    def __init__(self, purpose: str, address: str, problem: str, fix: str) -> None:
        super().__init__(purpose, address, problem, fix)
        self.purpose = purpose
        self.address = address
        self.problem = problem
        self.fix = fix

    @override
    def __str__(self) -> str:
        return f"can't listen for {self.purpose} on {self.address}: {self.problem}; {self.fix}"


class BoundSocket(Struct, frozen=True):
    """A bound, listening socket that nobody accepts from yet."""

    sock: socket.socket
    host: str
    """As configured."""
    ip: str
    """The address that it came to; a wildcard stays one."""
    port: int
    """The real one."""

    @property
    def address(self) -> str:
        """Return `host:port`."""
        return joined_address(self.host, self.port)

    def close(self) -> None:
        """Let the address go."""
        self.sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def joined_address(host: str, port: int) -> str:
    """Return `host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def encoded_host(host: str) -> str | bytes:
    """Return a host as `getaddrinfo` takes it; as bytes it spares Python's 1 MB of IDNA tables."""
    return host.encode() if host.isascii() else host


def bind_address(host: str, port: int, purpose: str) -> BoundSocket:
    """Bind and listen.

    Args:
        host: Name or address; a wildcard takes IPv4 and IPv6, as Go's servers do.
        port: 0 or -1: any free one.
        purpose: For the error, such as `client connections`.

    Raises:
        ListenError: It did not work.
    """
    wanted = max(port, 0)
    address = joined_address(host, port)
    try:
        sock = _bind_wildcard(wanted) if host in _WILDCARDS else _bind_host(host, wanted)
    except (OSError, UnicodeError, OverflowError) as error:
        raise ListenError(purpose, address, *_problem_and_fix(error)) from error
    ip, bound_port = sock.getsockname()[:2]
    return BoundSocket(sock, host, ip, bound_port)


def _bind_wildcard(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        try:
            return _bind(socket.AF_INET6, ("::", port), dual_stack=True)
        except OSError as error:
            if error.errno not in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}:
                raise
    return _bind(socket.AF_INET, ("0.0.0.0", port))  # noqa: S104 - asked for


def _bind_host(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(
        encoded_host(host),
        port,
        type=socket.SOCK_STREAM,
        flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV,
    )
    # IPv4 first: `localhost` shall be where other software looks for it.
    family, _, _, _, address = min(found, key=lambda it: it[0] is not socket.AF_INET)
    return _bind(family, address)


def _bind(
    family: socket.AddressFamily, address: tuple[object, ...], *, dual_stack: bool = False
) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not dual_stack))
        sock.bind(address)
        sock.listen(LISTEN_BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def _problem_and_fix(error: OSError | UnicodeError | OverflowError) -> tuple[str, str]:
    code = error.errno if isinstance(error, OSError) else None
    match code:
        case errno.EADDRINUSE:
            return "address already in use", "stop who uses it, or choose another port"
        case errno.EADDRNOTAVAIL:
            return "no interface of this machine has it", "choose an address of this machine"
        case errno.EACCES:
            return "not permitted", "choose a port of at least 1024"
        case _ if isinstance(error, socket.gaierror) or not isinstance(error, OSError):
            return "no such host", "write an address of this machine, such as 127.0.0.1"
        case _:
            return os.strerror(code or 0).lower(), "choose another address"
