"""The control loop's own place in accounts: what it subscribes to, watches and publishes there.

A port without a thread: it is read when it rings. Messages of streams don't pass here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from framework.spec import RowKind, RowWord

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import Port
    from framework_jetstream.engine._port_memory import PortMemory

BYTES_MAX: Final = 16 * 1024 * 1024


class Arrived(Struct, frozen=True):
    """A message, copied out of its batch."""

    subject: str
    reply: str
    header: bytes
    payload: bytes


class Exchange:
    """Subscribes, watches and publishes; all in the control loop.

    Args:
        open_port: Opens the port, when it is first needed.
    """

    def __init__(self, open_port: Callable[[], Port]) -> None:
        self._open = open_port
        self._port: Port | None = None
        self._capsule: object = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tags = 0
        self._takers: dict[int, Callable[[list[Arrived]], object]] = {}
        self._heard: dict[int, Callable[[bool], object]] = {}
        self._told: dict[int, Callable[[int], object]] = {}
        self._unsaid: list[tuple[int, bytes, bytes, bytes, bytes, int | None]] = []
        self._is_full = self._is_closed = False
        self._awaiting: list[Callable[[], object]] = []

    def subscribe(self, account: int, subject: str, take: Callable[[list[Arrived]], object]) -> int:
        """Subscribe; `take` gets messages in batches. Return what `forget` takes."""
        port, tag = self._begun(), self._next_tag()
        self._takers[tag] = take
        port.subscribe(account, subject.encode(), tag=tag)
        return tag

    def watch(self, account: int, subject: str, heard: Callable[[bool], object]) -> int:
        """Watch whether anybody is interested in a subject: now, and when it changes."""
        port, tag = self._begun(), self._next_tag()
        self._heard[tag] = heard
        port.watch(account, subject.encode(), tag=tag)
        return tag

    def listen(self, told: Callable[[int], object]) -> int:
        """Return a token for `publish`; `told` gets the `RowWord` that answers its messages."""
        token = self._next_tag()
        self._told[token] = told
        return token

    @property
    def has_room(self) -> bool:
        """Whether what is published goes out at once."""
        return not self._is_full

    def await_room(self, then: Callable[[], object]) -> None:
        """Call `then` once, when there is room again."""
        self._awaiting.append(then)

    def forget(self, tag: int) -> None:
        """End a subscription or a watch, or listen to a token no more."""
        self._told.pop(tag, None)
        if self._port is None or self._port.has_ended:
            return
        if self._takers.pop(tag, None):
            self._port.unsubscribe(tag)
        elif self._heard.pop(tag, None):
            self._port.unwatch(tag)

    def publish(
        self,
        account: int,
        subject: str,
        payload: bytes,
        *,
        reply: str = "",
        header: bytes = b"",
        token: int | None = None,
    ) -> None:
        """Publish a message; what the port has no room for goes out when it has.

        Args:
            account: Number of the account.
            subject: Where.
            payload: Its bytes.
            reply: Reply subject; empty: none.
            header: A block; empty: none.
            token: Of `listen`; None: what becomes of it is of no interest.
        """
        if self._is_closed:
            return
        self._begun()
        self._unsaid.append((account, subject.encode(), payload, reply.encode(), header, token))
        if not self._is_full:
            self._say()

    def publish_memory(
        self, account: int, subject: str, payload: PortMemory, *, token: int
    ) -> None:
        """Publish a message as `publish` does, whose payload is not copied if that can be."""
        if self._is_closed:
            return
        port = self._begun()
        if self._capsule is None:
            self._capsule = port.capsule()
        is_next = not self._unsaid and not port.has_ended
        if not is_next or not payload.publish(self._capsule, account, subject.encode(), token):
            self.publish(account, subject, bytes(payload), token=token)

    def close(self) -> None:
        """Listen no more."""
        if self._port is not None and self._loop is not None:
            self._loop.remove_reader(self._port.fileno())
            self._port.close()
        self._port = self._loop = self._capsule = None
        self._is_closed = True

    def _begun(self) -> Port:
        if self._port is None:
            self._port = self._open()
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._port.fileno(), self._take)
        return self._port

    def _next_tag(self) -> int:
        self._tags += 1
        return self._tags

    def _say(self) -> None:
        port = self._port
        if port is None or port.has_ended or not self._unsaid:
            return
        out = port.outgoing()
        for account, subject, payload, reply, header, token in self._unsaid:
            out.add(account, subject, payload, reply=reply, header=header, token=token)
        self._is_full = not port.publish(out)
        if not self._is_full:
            self._unsaid.clear()
            awaiting, self._awaiting = self._awaiting, []
            for then in awaiting:
                then()

    def _take(self) -> None:
        port = self._port
        if port is None or self._loop is None:
            return
        if port.has_ended:
            self._loop.remove_reader(port.fileno())
            return
        arrived: dict[int, list[Arrived]] = {}
        while batch := port.take():
            for at in range(len(batch)):
                self._sort(batch, at, arrived)
        for tag, messages in arrived.items():
            if take := self._takers.get(tag):
                take(messages)
        self._say()

    def _sort(self, batch: Any, at: int, arrived: dict[int, list[Arrived]]) -> None:
        tag, kind = batch.tag(at), batch.kind(at)
        if kind == RowKind.INTEREST and (heard := self._heard.get(tag)):
            heard(batch.word(at) == RowWord.SOMEBODY)
        elif kind == RowKind.ANSWER and (told := self._told.get(tag)):
            told(batch.word(at))
        elif kind == RowKind.MESSAGE and tag in self._takers:
            message = Arrived(
                bytes(batch.subject(at)).decode("utf-8", "replace"),
                bytes(batch.reply(at)).decode("utf-8", "replace"),
                bytes(batch.header(at)),
                bytes(batch.payload(at)),
            )
            arrived.setdefault(tag, []).append(message)
