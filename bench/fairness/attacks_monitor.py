"""Attacks by large questions, by many of them, and by sockets that say nothing."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from bench.fairness.attack import Attack, Target, holding
from framework.testing import RawClient
from framework.testing.errors import ConnectionEndedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.synchronize import Event

_SUBSCRIPTIONS: Final = 200_000
_ACCOUNTS: Final = 10_000
_SILENT: Final = 8_200
_IDLE: Final = 128
_WAIT_S: Final = 0.05
_CONNZ: Final = "$SYS.REQ.ACCOUNT.PING.CONNZ"
_OPTIONS: Final = {_CONNZ: b'{"subscriptions": true}'}

_USERS: Final = """
accounts {
  $SYS { users: [{user: sys, password: sys}] }
  A { users: [{user: many, password: many}] }
  B { users: [{user: other, password: other}] }
}
"""


def _get(target: Target, path: str) -> socket.socket:
    asker = socket.create_connection(("127.0.0.1", target.monitor_port))
    asker.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return asker


def _hung_up(target: Target, over: Event) -> None:
    """Ask for everything sixty times, and hang up at once; again each second."""
    while not over.is_set():
        askers = [_get(target, "/subsz?subs=1&limit=1000000") for _ in range(60)]
        for asker in askers:
            asker.close()
        over.wait(1.0)


def _pollers(path: str, count: int, target: Target, over: Event) -> None:
    """Ask on some connections, each again as soon as it was answered."""
    threads = [threading.Thread(target=_poll, args=(path, target, over)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _poll(path: str, target: Target, over: Event) -> None:
    question = f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode()
    while not over.is_set():
        with contextlib.suppress(OSError):
            asker = socket.create_connection(("127.0.0.1", target.monitor_port), timeout=5)
            with asker:
                asker.sendall(question)
                while asker.recv(1 << 20):
                    pass


def _requests(user: str, subject: str, count: int, target: Target, over: Event) -> None:
    """Ask the server by messages, many at once, and take the answers; again when all have come."""
    while not over.is_set():
        with contextlib.suppress(ConnectionEndedError, OSError), RawClient(target.port) as client:
            client.log_in(user=user, **{"pass": user})
            client.send(b"SUB ask.answers 1\r\n")
            options = _OPTIONS.get(subject, b"")
            words = (subject.encode(), len(options), options)
            request = b"PUB %b ask.answers %d\r\n%b\r\n" % words
            client.send(request * count)
            for _ in range(count):
                client.read_until(b"MSG")
                if over.is_set():
                    return


def _idle(target: Target, over: Event) -> None:
    """Hold connections to the monitoring port on which nothing is asked; dial again when cut."""
    held: list[socket.socket] = []
    while not over.is_set():
        held = [it for it in held if not _is_ended(it)]
        with contextlib.suppress(OSError):
            held += [
                socket.create_connection(("127.0.0.1", target.monitor_port))
                for _ in range(_IDLE - len(held))
            ]
        over.wait(_WAIT_S)
    for it in held:
        it.close()


def _is_ended(held: socket.socket) -> bool:
    held.settimeout(0)
    try:
        return not held.recv(4096)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _silent(target: Target, over: Event) -> None:
    """Hold sockets that never log in; dial again as soon as one is closed."""
    selector = selectors.DefaultSelector()
    held = 0
    while not over.is_set():
        for _ in range(min(_SILENT - held, 200)):
            with contextlib.suppress(OSError):
                one = socket.create_connection(("127.0.0.1", target.port), timeout=1)
                one.settimeout(0)
                selector.register(one, selectors.EVENT_READ)
                held += 1
        for key, _ in selector.select(_WAIT_S if held >= _SILENT else 0):
            known = key.fileobj
            assert isinstance(known, socket.socket)
            if _is_ended(known):
                selector.unregister(known)
                known.close()
                held -= 1


def _holds(
    count: int, user: str = ""
) -> Callable[[Target], contextlib.AbstractContextManager[object]]:
    def prepare(target: Target) -> contextlib.AbstractContextManager[object]:
        client = RawClient(target.port)
        client.log_in(**({"user": user, "pass": user} if user else {}))
        return holding(client, count)

    return prepare


def _many_accounts() -> str:
    users = "\n".join(f"A{it} {{users: [{{user: u{it}, password: p}}]}}" for it in range(_ACCOUNTS))
    return f"accounts {{\n{users}\nB {{ users: [{{user: other, password: other}}] }}\n}}\n"


def _large(path: str, target: Target, over: Event) -> None:
    """Ask for one large document after the other, and say how long each took."""
    while not over.is_set():
        begin_s = time.perf_counter()
        size = 0
        with contextlib.suppress(OSError), _get(target, f"{path}") as asker:
            asker.settimeout(60)
            asker.shutdown(socket.SHUT_WR)
            while part := asker.recv(1 << 20):
                size += len(part)
        print(f"    {path}: {size / 1e6:.1f} MB in {time.perf_counter() - begin_s:.2f} s")


_OTHER = ("other", "other")

ATTACKS: Final = (
    Attack("60 x /subsz of 200,000, hung up", _hung_up, _holds(_SUBSCRIPTIONS)),
    Attack(
        "8 pollers of /subsz?subs=1&limit=1 of 200,000",
        partial(_pollers, "/subsz?subs=1&limit=1", 8),
        _holds(_SUBSCRIPTIONS),
    ),
    Attack(
        "400 x PING.CONNZ of a user with 200,000",
        partial(_requests, "many", _CONNZ, 400),
        _holds(_SUBSCRIPTIONS, "many"),
        _USERS,
        _OTHER,
    ),
    Attack(
        "/subsz of 1,000,000",
        partial(_large, "/subsz?subs=1&limit=1000000"),
        _holds(1_000_000),
    ),
    Attack(
        "/connz?subs=detail of 1,000,000",
        partial(_large, "/connz?subs=detail"),
        _holds(1_000_000),
    ),
    Attack("128 idle HTTP connections", _idle),
    Attack(
        "/accstatz?unused=1 of 10,000 accounts",
        partial(_pollers, "/accstatz?unused=1", 2),
        config=_many_accounts(),
        login=_OTHER,
    ),
    Attack(
        "1,600 $SYS requests at once",
        partial(_requests, "sys", "$SYS.REQ.SERVER.PING.VARZ", 1_600),
        config=_USERS,
        login=_OTHER,
    ),
    Attack("8,200 silent sockets, redialed", _silent, config=_USERS, login=_OTHER),
)
