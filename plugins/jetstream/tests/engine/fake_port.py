"""A port whose other side is a test: what it is told comes from lists, and so goes what it says."""

from __future__ import annotations

import ctypes
import weakref
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_uint16, c_uint32, c_void_p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MESSAGE, ANSWER, TEXT = 0, 1, c_void_p
FULL = 1
NOBODY = 1
NO_ACCOUNT = 0xFFFFFFFF
GONE = b"gone"
"""Where nobody listens."""


class Row(ctypes.Structure):
    _fields_ = (
        ("link", ctypes.c_uint64),
        ("tag", c_int64),
        ("at", c_uint32),
        ("subject_length", c_uint32),
        ("reply_length", c_uint32),
        ("header_length", c_uint32),
        ("payload_length", c_uint32),
        ("kind", c_uint16),
        ("word", c_uint16),
    )


class Batch(ctypes.Structure):
    _fields_ = (("count", c_uint32), ("rows", POINTER(Row)), ("chars", c_char_p), ("owner", TEXT))


class Message(ctypes.Structure):
    _fields_ = (
        *((name, TEXT) for name in ("subject", "reply", "header", "payload", "inbox")),
        *(
            (f"{name}_length", c_uint32)
            for name in ("subject", "reply", "header", "payload", "inbox")
        ),
        ("account", c_uint32),
        ("asks", c_uint32),
        ("token", c_int64),
    )

    def text(self, name: str) -> bytes:
        return ctypes.string_at(getattr(self, name) or 0, getattr(self, f"{name}_length"))


SUBSCRIBE = CFUNCTYPE(c_int, TEXT, c_uint32, TEXT, c_uint32, TEXT, c_uint32, c_int64)
UNTAG = CFUNCTYPE(c_int, TEXT, c_int64)
WATCH = CFUNCTYPE(c_int, TEXT, c_uint32, TEXT, c_uint32, c_int64)
TAKE = CFUNCTYPE(TEXT, TEXT)
RELEASE = CFUNCTYPE(None, TEXT, TEXT)
PUBLISH = CFUNCTYPE(c_int, TEXT, POINTER(Message), c_uint32)
HAS_ENDED = CFUNCTYPE(c_int, TEXT)
PUBLISH_MEMORY = CFUNCTYPE(c_int, TEXT, TEXT, POINTER(Message))
MEMORY_BEFORE, MEMORY_BEHIND = 40, 24
FREE = ctypes.CDLL(None).free
FREE.argtypes = (TEXT,)


class Functions(ctypes.Structure):
    _fields_ = (
        ("version", c_uint32),
        ("size", c_uint32),
        ("wake_fd", c_int),
        ("self", TEXT),
        ("subscribe", SUBSCRIBE),
        ("unsubscribe", UNTAG),
        ("watch", WATCH),
        ("unwatch", UNTAG),
        ("take", TAKE),
        ("release", RELEASE),
        ("publish", PUBLISH),
        ("has_ended", HAS_ENDED),
        ("decide", TEXT),
        ("publish_memory", PUBLISH_MEMORY),
        ("memory_before", c_uint32),
        ("memory_behind", c_uint32),
    )


KEPT: list[Functions] = []
"""For ever: an engine says to its port that it ends, and of garbage either goes first."""


class FakePort:
    """What an engine takes for a port."""

    def __init__(self) -> None:
        self.tags: dict[bytes, int] = {}
        """By subject that is subscribed to."""
        self.waiting: list[Batch] = []
        self.held: dict[int, tuple[object, ...]] = {}
        """Batches that were not released yet, with what keeps them alive."""
        self.said: list[tuple[bytes, bytes, bytes, bytes]] = []
        """(Where it goes to, reply, subject, payload) of each message."""
        self.unheard: list[int] = []
        """Tokens of messages that went where nobody listens."""
        self.missed: list[bytes] = []
        """Where those were to be acknowledged."""
        self.is_full = False
        """Whether it takes nothing now."""
        self._functions = Functions(
            version=1,
            size=ctypes.sizeof(Functions),
            wake_fd=-1,
            subscribe=SUBSCRIBE(self._as_long_as_it_lives("_subscribe")),
            unsubscribe=UNTAG(self._as_long_as_it_lives("_unsubscribe")),
            watch=WATCH(lambda *_: 0),
            unwatch=UNTAG(lambda *_: 0),
            take=TAKE(self._as_long_as_it_lives("_take")),
            release=RELEASE(self._as_long_as_it_lives("_release")),
            publish=PUBLISH(self._as_long_as_it_lives("_publish")),
            has_ended=HAS_ENDED(lambda _: 0),
            publish_memory=PUBLISH_MEMORY(self._as_long_as_it_lives("_publish_memory")),
            memory_before=MEMORY_BEFORE,
            memory_behind=MEMORY_BEHIND,
        )
        KEPT.append(self._functions)

    def _as_long_as_it_lives(self, method: str) -> Callable[..., int | None]:
        own = weakref.ref(self)

        def call(*words: object) -> int | None:
            port = own()
            return 0 if port is None else getattr(port, method)(*words)

        return call

    def capsule(self) -> object:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = (TEXT, c_char_p, TEXT)
        self._name = b"framework.port.1"
        return new(ctypes.addressof(self._functions), self._name, None)

    def tell(self, link: int, messages: list[tuple[bytes, bytes, bytes, bytes, bytes]]) -> None:
        """Let a batch come: (pattern that was subscribed to, subject, reply, header, payload)."""
        chars, rows = b"", (Row * len(messages))()
        for row, (pattern, *texts) in zip(rows, messages, strict=True):
            lengths = [len(it) for it in texts]
            row.link, row.tag, row.at, row.kind = link, self.tags[pattern], len(chars), MESSAGE
            row.subject_length, row.reply_length, row.header_length, row.payload_length = lengths
            chars += b"".join(texts)
        batch = Batch(len(messages), rows, chars, None)
        self.held[ctypes.addressof(batch)] = (batch, rows, chars)
        self.waiting.append(batch)

    def tell_unheard(self) -> None:
        """Let an answer come for each message that nobody got."""
        rows = (Row * len(self.unheard))()
        for row, token in zip(rows, self.unheard, strict=True):
            row.tag, row.kind, row.word = token, ANSWER, NOBODY
        self.unheard.clear()
        batch = Batch(len(rows), rows, b"", None)
        self.held[ctypes.addressof(batch)] = (batch, rows, b"")
        self.waiting.append(batch)

    def _subscribe(self, _: int, _a: int, at: int, length: int, *rest: int) -> int:
        self.tags[ctypes.string_at(at, length)] = rest[-1]
        return 0

    def _unsubscribe(self, _: int, tag: int) -> int:
        for subject in [it for it, known in self.tags.items() if known == tag]:
            del self.tags[subject]
        return 0

    def _take(self, _: int) -> int | None:
        return ctypes.addressof(self.waiting.pop(0)) if self.waiting else None

    def _release(self, _: int, batch: int) -> None:
        del self.held[batch]

    def _publish(self, _: int, messages: Sequence[Message], count: int) -> int:
        if self.is_full:
            return FULL
        for it in messages[:count]:
            if it.account == NO_ACCOUNT:
                self.unheard.append(it.token)
                continue
            if it.text("inbox") == GONE and it.asks:
                self.unheard.append(it.token)
                self.missed.append(it.text("reply"))
                continue
            target = it.text("inbox") or it.text("subject")
            self.said.append((target, it.text("reply"), it.text("subject"), it.text("payload")))
        return 0

    def _publish_memory(self, _: int, memory: int, message: ctypes._Pointer[Message]) -> int:
        it = message.contents
        assert it.payload == memory + MEMORY_BEFORE + it.subject_length
        self._publish(0, [it], 1)
        # All of it is the port's.
        ctypes.memset(memory, 0, MEMORY_BEFORE + it.subject_length)
        ctypes.memset(it.payload, 0, it.payload_length + MEMORY_BEHIND)
        FREE(memory)
        return 0
