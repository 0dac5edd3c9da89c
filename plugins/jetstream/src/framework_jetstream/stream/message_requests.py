"""Requests about the messages of one stream: purge, get and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from framework_jetstream.api.answers import answer, refused
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import (
    MessageDeleteRequest,
    MessageGetRequest,
    PurgeRequest,
    plain,
)
from framework_jetstream.api.requests import is_empty_request, read
from framework_jetstream.engine.verbs import NOT_LOGGED, NOT_STORED, OFFLINE, Verb
from framework_jetstream.stream.shown import message_from_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import Reply
    from framework_jetstream.api.errors import ApiFailure
    from framework_jetstream.engine.link import EngineAnswer
    from framework_jetstream.host import Host
    from framework_jetstream.stream.book import StreamEntry


class Ask(Protocol):
    """Lets the engine do something with the stream, and hears of it in the turn of its actor."""

    def __call__(
        self,
        verb: Verb,
        then: Callable[[EngineAnswer], object],
        *,
        numbers: tuple[int, ...] = (),
        first: bytes = b"",
    ) -> None:
        """Ask it."""


class MessageRequest(Protocol):
    """What is asked."""

    @property
    def payload(self) -> bytes:
        """In JSON."""

    @property
    def reply(self) -> Reply[bytes | None]:
        """Gets the answer."""


class MessageRequests:
    """Answers what is asked about the messages of a stream; each raises ApiFailure.

    Args:
        entry: The stream.
        host: The server.
        ask: The way to the engine.
    """

    def __init__(self, entry: StreamEntry, host: Host, ask: Ask) -> None:
        self._entry = entry
        self._host = host
        self._ask = ask

    def purge(self, request: MessageRequest) -> None:
        """Remove messages: all, or those of a subject, or before a sequence, or the last few."""
        wanted = read(PurgeRequest, request.payload, is_strict=self._host.is_strict)
        config = self._entry.config
        if config.sealed:
            raise failure(ErrCode.STREAM_SEALED)
        if config.deny_purge:
            raise failure(ErrCode.STREAM_PURGE_FAILED, err="stream purge not permitted")
        if wanted.seq and wanted.keep:
            raise failure(ErrCode.BAD_REQUEST)

        def finish(told: EngineAnswer) -> None:
            fields = {"success": True, "purged": told.numbers[0]}
            if told.status == NOT_LOGGED:
                error = failure(ErrCode.STREAM_PURGE_FAILED, err=NOT_STORED).error
                request.reply.set(refused("stream_purge", error))
            else:
                request.reply.set(answer("stream_purge", fields))

        numbers = (wanted.seq, wanted.keep)
        self._ask(Verb.PURGE, finish, numbers=numbers, first=wanted.filter.encode())

    def get(self, request: MessageRequest) -> None:
        """Answer with one message: by sequence, the last or the next one of a subject."""
        if is_empty_request(request.payload):
            raise failure(ErrCode.BAD_REQUEST)
        wanted = read(MessageGetRequest, request.payload, is_strict=self._host.is_strict)
        is_by_seq = wanted.seq > 0 and not wanted.last_by_subj and not wanted.next_by_subj
        is_last = bool(wanted.last_by_subj) and not wanted.seq and not wanted.next_by_subj
        is_next = bool(wanted.next_by_subj) and not wanted.last_by_subj
        if not (is_by_seq or is_last or is_next) or wanted.batch or wanted.multi_last:
            raise failure(ErrCode.BAD_REQUEST)

        def finish(told: EngineAnswer) -> None:
            if told.status == OFFLINE:
                offline = failure(ErrCode.STREAM_OFFLINE).error
                request.reply.set(refused("stream_msg_get", offline))
            elif told.status:
                missing = failure(ErrCode.MESSAGE_NOT_FOUND).error
                request.reply.set(refused("stream_msg_get", missing))
            else:
                message = message_from_answer(told)
                request.reply.set(answer("stream_msg_get", {"message": plain(message)}))

        pattern = (wanted.last_by_subj or wanted.next_by_subj).encode()
        self._ask(Verb.GET_MESSAGE, finish, numbers=(wanted.seq, is_last), first=pattern)

    def delete(self, request: MessageRequest) -> None:
        """Remove one message."""
        if is_empty_request(request.payload):
            raise failure(ErrCode.BAD_REQUEST)
        wanted = read(MessageDeleteRequest, request.payload, is_strict=self._host.is_strict)
        config = self._entry.config
        if config.sealed:
            raise failure(ErrCode.STREAM_SEALED)
        if config.deny_delete:
            raise failure(ErrCode.MSG_DELETE_FAILED, err="message delete not permitted")

        def finish(told: EngineAnswer) -> None:
            if told.status == NOT_LOGGED:
                error = failure(ErrCode.MSG_DELETE_FAILED, err=NOT_STORED).error
                request.reply.set(refused("stream_msg_delete", error))
            elif told.status:
                missing = self._missing(wanted.seq, told).error
                request.reply.set(refused("stream_msg_delete", missing))
            else:
                request.reply.set(answer("stream_msg_delete", {"success": True}))

        self._ask(Verb.DELETE_MESSAGE, finish, numbers=(wanted.seq,))

    def _missing(self, seq: int, told: EngineAnswer) -> ApiFailure:
        """Return why a message can't be deleted.

        Source: nats-server `filestore.go`, `removeMsg`; `memstore.go`, `RemoveMsg`.
        """
        last_seq, first_seq = (number % 2**64 for number in told.numbers[:2])
        if self._entry.config.storage == "file" and seq > last_seq:
            return failure(ErrCode.MSG_DELETE_FAILED, err="stream store EOF")
        if self._entry.config.storage == "file" and seq < max(first_seq, 1):
            return failure(ErrCode.MSG_DELETE_FAILED, err="no message found")
        return failure(ErrCode.SEQUENCE_NOT_FOUND, seq=seq)
