"""`JetStream`: the streams of a server, and the API that makes, lists and reaches them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import STOP_ON_FAILURE, Component, Reply
from framework.wire.version import JETSTREAM_API_LEVEL
from framework_jetstream.api.answers import LIST_MAX, NAMES_MAX, answer, page, refused
from framework_jetstream.api.errors import ApiFailure, ErrCode, failure
from framework_jetstream.api.records import (
    AccountLimits,
    AccountStats,
    ApiStats,
    StreamConfigRequest,
    StreamInfo,
    StreamNamesRequest,
    plain,
)
from framework_jetstream.api.requests import check_level, read
from framework_jetstream.api.subjects import CLUSTERED, subject_of
from framework_jetstream.api.times import text_from_ns
from framework_jetstream.engine.link import EngineAnswers
from framework_jetstream.engine.verbs import Verb
from framework_jetstream.stream.book import StreamBook, StreamEntry
from framework_jetstream.stream.rules import check_create, settled
from framework_jetstream.stream.stream import Stream, state_from_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from framework_jetstream.engine.link import EngineAnswer, EngineLink

JETSTREAM: Final = "jetstream"
"""Name of its ComponentSpec."""


class JetStream(Component):
    """Own the streams of all accounts: make them, find them, answer for them together.

    Args:
        link: The way to the engine.
        server: Name of the server.
        account_number: Returns the number of an account in the plane.
        clock: Returns the Unix time in nanoseconds.
    """

    class ApiRequest(Struct, frozen=True):
        """A request of a client."""

        account: str
        tokens: tuple[str, ...]
        """Of its subject, behind `$JS.API.`."""
        payload: bytes
        headers: Mapping[str, tuple[str, ...]]
        reply: Reply[bytes | None]
        """None: nobody answers."""

    class Describe(Struct, frozen=True):
        """Say what is stored, for monitoring."""

        reply: Reply[dict[str, Any]]

    def __init__(
        self,
        *,
        link: EngineLink,
        server: str,
        account_number: Callable[[str], int],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__()
        self._link = link
        self._server = server
        self._account_number = account_number
        self._clock = clock
        self._book = StreamBook()
        self._total = self._errors = 0
        self._handlers = {
            "account_info": self._account_info,
            "stream_names": self._names,
            "stream_list": self._list,
            "stream_create": self._create,
        }

    @override
    def on_receive(self, message: object) -> object:
        match message:
            case EngineAnswers():
                message.use()
            case JetStream.ApiRequest():
                self._take(message)
            case JetStream.Describe(reply):
                self._describe(reply)
            case _:
                super().on_receive(message)
        return None

    @override
    def on_stop(self) -> None:
        self._link.close()

    def _take(self, request: JetStream.ApiRequest) -> None:
        """Answer a request, or pass it to the stream that it is about."""
        found = subject_of(request.tokens)
        if found is None:
            request.reply.set(None)
            return
        kind, name = found.kind, found.stream
        self._total += 1
        request.reply.when_done(self._count_error)
        try:
            check_level(request.headers)
            if handler := self._handlers.get(kind):
                handler(request, name)
                return
            entry = self._book.find(request.account, name)
            assert entry.stream is not None
            if kind in CLUSTERED:
                raise failure(ErrCode.CLUSTER_REQUIRED)
            entry.stream.tell(
                Stream.Request(kind, request.payload, request.reply, found.rest, found.is_durable)
            )
        except ApiFailure as refusal:
            request.reply.set(refused(kind, refusal.error))

    def _count_error(self, reply: Reply[bytes | None]) -> None:
        text = reply.get()
        self._errors += text is not None and b'"error":{' in text[:120]

    # -- one stream ------------------------------------------------------------------------------

    def _create(self, request: JetStream.ApiRequest, name: str) -> None:
        wanted = read(StreamConfigRequest, request.payload)
        if wanted.name != name:
            raise failure(ErrCode.STREAM_MISMATCH)
        config = settled(wanted)
        check_create(config)
        known = self._book.get(request.account, name)
        if known is not None:
            if known.config != config:
                raise failure(ErrCode.STREAM_NAME_EXISTS)
            assert known.stream is not None
            known.stream.tell(Stream.Request("stream_create", b"", request.reply))
            return
        self._book.check_subjects(request.account, config)
        entry = StreamEntry(
            number=self._book.next_number(),
            account=request.account,
            config=config,
            created_ns=self._clock(),
        )
        self._book.put(entry)
        entry.stream = self.spawn(
            Stream,
            supervision=STOP_ON_FAILURE,
            entry=entry,
            book=self._book,
            link=self._link,
            server=self._server,
            clock=self._clock,
        )
        number = self._account_number(request.account)
        entry.stream.tell(Stream.Open(number, request.reply))

    # -- all of an account -----------------------------------------------------------------------

    def _names(self, request: JetStream.ApiRequest, _: str) -> None:
        wanted = read(StreamNamesRequest, request.payload)
        found = self._book.streams(request.account, wanted.subject)
        names = [entry.config.name for entry in found]
        request.reply.set(answer("stream_names", page(names, wanted.offset, NAMES_MAX, "streams")))

    def _list(self, request: JetStream.ApiRequest, _: str) -> None:
        wanted = read(StreamNamesRequest, request.payload)
        entries = self._book.streams(request.account, wanted.subject)

        def finish(states: Sequence[EngineAnswer]) -> None:
            infos = [
                StreamInfo(
                    config=entry.config,
                    created=text_from_ns(entry.created_ns),
                    state=state_from_numbers(told.numbers, entry.consumer_count),
                    ts=text_from_ns(self._clock()),
                )
                for entry, told in zip(shown, states, strict=True)
            ]
            paged = page(entries, wanted.offset, 0, "streams")
            paged |= {"limit": LIST_MAX, "streams": [plain(info) for info in infos] or None}
            request.reply.set(answer("stream_list", paged))

        begin = min(max(wanted.offset, 0), len(entries))
        shown = entries[begin : begin + LIST_MAX]
        self._ask_states(shown, finish)

    def _ask_states(
        self, entries: Sequence[StreamEntry], finish: Callable[[Sequence[EngineAnswer]], None]
    ) -> None:
        """Ask how streams are, and go on when all have answered."""
        states: list[EngineAnswer] = []

        def told(answered: EngineAnswer) -> None:
            states.append(answered)
            if len(states) == len(entries):
                finish(states)

        for entry in entries:
            self._link.ask(self.actor_ref, Verb.STREAM_STATE, entry.number, then=told)
        if not entries:
            finish([])

    def _describe(self, reply: Reply[dict[str, Any]]) -> None:
        entries = list(self._book.all())

        def finish(states: Sequence[EngineAnswer]) -> None:
            messages = sum(told.numbers[0] for told in states)
            size = sum(told.numbers[1] for told in states)
            api = ApiStats(level=JETSTREAM_API_LEVEL, total=self._total, errors=self._errors)
            reply.set({
                "memory": size,
                "storage": 0,
                "reserved_memory": _reserved(entries, "memory"),
                "reserved_storage": _reserved(entries, "file"),
                "accounts": len(self._book.accounts()),
                "ha_assets": 0,
                "api": plain(api),
                "streams": len(entries),
                "consumers": sum(entry.consumer_count for entry in entries),
                "messages": messages,
                "bytes": size,
                "total": len(self._book.accounts()),
            })

        self._ask_states(entries, finish)

    def _account_info(self, request: JetStream.ApiRequest, _: str) -> None:
        entries = self._book.streams(request.account)
        api = ApiStats(level=JETSTREAM_API_LEVEL, total=self._total - 1, errors=self._errors)

        def used(states: Sequence[EngineAnswer], storage: str) -> int:
            pairs = zip(entries, states, strict=True)
            return sum(it.numbers[1] for entry, it in pairs if entry.config.storage == storage)

        def finish(states: Sequence[EngineAnswer]) -> None:
            stats = AccountStats(
                memory=used(states, "memory"),
                storage=used(states, "file"),
                reserved_memory=_reserved(entries, "memory"),
                reserved_storage=_reserved(entries, "file"),
                streams=len(entries),
                consumers=sum(entry.consumer_count for entry in entries),
                limits=AccountLimits(),
                api=api,
            )
            request.reply.set(answer("account_info", plain(stats)))

        self._ask_states(entries, finish)


def _reserved(entries: Sequence[StreamEntry], storage: str) -> int:
    """Return the bytes that streams of a storage may have at most, of those that say so."""
    return sum(
        entry.config.max_bytes
        for entry in entries
        if entry.config.storage == storage and entry.config.max_bytes > 0
    )
