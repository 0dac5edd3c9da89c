"""Frames into a stream: published with ids, and again until they are acknowledged.

It is told what happens, and publishes through what it is given: no I/O, no clock.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from framework_tap.limits import (
    ACK_DEADLINE_S,
    FRAMES_UNACKED_MAX,
    MAKE_RETRY_FIRST_S,
    MAKE_RETRY_S,
    SENDS_MAX,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework_tap.config import TapRule
    from framework_tap.frames import Frame
    from framework_tap.make_turns import MakeTurns

_NAME_IN_USE = 10058
_MAKE = "make"
_NOT_OF_A_TOKEN = re.compile(r"[^A-Za-z0-9_-]")
SECOND_NS = 1_000_000_000


class _Sent(NamedTuple):
    frame: Frame
    at_ns: int
    sends: int


class StreamSink:
    """The stream of one rule in one account.

    Args:
        rule: Its name.
        account: Whose stream it is.
        config: The rule.
        server: Name of this server.
        run: What no other run of a server is called.
        inbox: Answers come to one token behind it.
        publish: Publishes (subject, reply, header block, payload) in the rule's account.
        turns: At asking for the streams of the account.
    """

    is_written_idle = False

    def __init__(
        self,
        *,
        rule: str,
        account: str,
        config: TapRule,
        server: str,
        run: str,
        inbox: str,
        publish: Callable[[bytes, bytes, bytes, bytes], None],
        turns: MakeTurns,
    ) -> None:
        self.name = config.stream or f"TAP_{rule}"
        self.problem = ""
        """Why rows are not stored; empty: they are."""
        self.rows = 0
        self.lost = 0
        """Rows that were recorded and not stored."""
        self._account = account
        self._config = config
        self._subjects = f"$TAP.{rule}.>"
        self._subject = f"$TAP.{rule}.{_NOT_OF_A_TOKEN.sub('_', server)}".encode()
        self._run = run
        self._inbox = inbox
        self._publish = publish
        self._turns = turns
        self._look: Callable[[], None] | None = None
        self._is_asking = self._is_waiting = False
        """For an answer, and for a turn to ask."""
        self._is_made = False
        self._asked_ns: int | None = None
        self._retry_s = MAKE_RETRY_FIRST_S
        self._sent: dict[int, _Sent] = {}
        self._count = 0
        self._lost_untold = 0

    @property
    def has_room(self) -> bool:
        """Whether one more frame may be stored."""
        return self._is_made and len(self._sent) < FRAMES_UNACKED_MAX

    @property
    def place(self) -> str:
        """Return where rows go, for people."""
        return f"stream {self.name}"

    def open(self, look: Callable[[], None]) -> None:
        """Have `look` called when it can ask for the stream."""
        self._look = look

    def write(self, frame: Frame, now_ns: int) -> None:
        """Do nothing: what a frame costs is published in the control loop's turn."""

    def close(self, now_ns: int) -> None:  # noqa: ARG002 - of the sink's protocol
        """Let others ask: what was published is on its way."""
        self._end_turn()

    def store(self, frame: Frame, now_ns: int) -> None:
        """Publish a frame."""
        self._count += 1
        self._send(self._count, _Sent(frame, now_ns, 1))

    def tick(self, now_ns: int) -> None:
        """Make the stream if it is not there, and publish again what was not acknowledged."""
        if not self._is_made:
            if self._asked_ns is None or now_ns - self._asked_ns >= self._retry_s * SECOND_NS:
                self._make(now_ns)
            return
        for number, sent in list(self._sent.items()):
            if now_ns - sent.at_ns < ACK_DEADLINE_S * SECOND_NS:
                continue
            if sent.sends < SENDS_MAX:
                self._send(number, _Sent(sent.frame, now_ns, sent.sends + 1))
            else:
                self._lose(number, "no acknowledgement came")

    def wait_s(self, now_ns: int) -> float | None:
        """Return in how many seconds more is due; None: nothing is, until it is told something."""
        if self._is_waiting:
            return None
        if not self._is_made:
            asked_ns = now_ns if self._asked_ns is None else self._asked_ns
            due_ns = asked_ns + int(self._retry_s * SECOND_NS)
        elif self._sent:
            oldest_ns = min(sent.at_ns for sent in self._sent.values())
            due_ns = oldest_ns + int(ACK_DEADLINE_S * SECOND_NS)
        else:
            return None
        return max(due_ns - now_ns, 0) / SECOND_NS

    def receive(self, token: str, payload: bytes) -> None:
        """Take an answer that came to `<inbox>.<token>`."""
        try:
            answer: dict[str, Any] = json.loads(payload)
        except ValueError:
            answer = {"error": {"description": "no stream takes it"}}
        error: dict[str, Any] = answer.get("error") or {}
        if token == _MAKE:
            self._end_turn()
            self._is_made = not error or error.get("err_code") == _NAME_IN_USE
            self.problem = "" if self._is_made else self._refused(error)
            return
        number = int(token) if token.isdecimal() else 0
        if number not in self._sent:
            return
        if error:
            self._lose(number, str(error.get("description")))
            return
        self.problem = ""
        self._retry_s = MAKE_RETRY_FIRST_S
        self.rows += self._sent.pop(number).frame.rows

    def _refused(self, error: dict[str, Any]) -> str:
        """Return why there is no stream, with what was asked for: that is what can be changed."""
        config = self._config
        return (
            f"{error.get('description')} (storage {config.storage}, max_bytes {config.max_bytes:,},"
            f" replicas {config.replicas} of the rule)"
        )

    def take_lost(self) -> int:
        """Return the messages that were lost on their way since the last call."""
        lost, self._lost_untold = self._lost_untold, 0
        return lost

    def _lose(self, number: int, why: str) -> None:
        frame = self._sent.pop(number).frame
        self.lost += frame.rows
        self._lost_untold += frame.rows + frame.dropped
        self.problem = why
        # Somebody may have deleted it.
        self._is_made = False

    def _send(self, number: int, sent: _Sent) -> None:
        self._sent[number] = sent
        header = (
            f"NATS/1.0\r\nNats-Msg-Id: {self._run}.{number}\r\n"
            f"Nats-Expected-Stream: {self.name}\r\n\r\n"
        )
        reply = f"{self._inbox}.{number}".encode()
        self._publish(self._subject, reply, header.encode(), sent.frame.data)

    def _make(self, now_ns: int) -> None:
        """Ask for the stream, now or when it is this sink's turn."""
        if self._is_asking:
            self._end_turn()  # nobody has answered: those who wait ask first
        assert self._look is not None
        self._is_asking = self._turns.take(self, self._look)
        self._is_waiting = not self._is_asking
        if self._is_asking:
            # Streams may be there a moment later than their first user.
            again_s = MAKE_RETRY_FIRST_S if self._asked_ns is None else 2 * self._retry_s
            self._retry_s = min(again_s, MAKE_RETRY_S)
            self._asked_ns = now_ns
            self._ask_to_make()

    def _end_turn(self) -> None:
        self._is_asking = self._is_waiting = False
        self._turns.give_back(self)

    def _ask_to_make(self) -> None:
        config = self._config
        wanted = {
            "name": self.name,
            "subjects": [self._subjects],
            "storage": config.storage,
            "num_replicas": config.replicas,
            "retention": "limits",
            "discard": "old",
            "max_bytes": config.max_bytes,
            "max_age": int(config.max_age * SECOND_NS),
            "allow_direct": True,
        }
        subject = f"$JS.API.STREAM.CREATE.{self.name}".encode()
        reply = f"{self._inbox}.{_MAKE}".encode()
        # What the server adds to requests of clients: by it JetStream knows who asks.
        asker = json.dumps({"acc": self._account})
        header = f"NATS/1.0\r\nNats-Request-Info: {asker}\r\n\r\n".encode()
        self._publish(subject, reply, header, json.dumps(wanted).encode())
