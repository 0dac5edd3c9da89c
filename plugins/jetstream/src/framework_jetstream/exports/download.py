"""Streams as files of the monitoring port: `/stream/<stream>.arrows` and `.parquet`.

Who asks is a client of this server for as long as it takes: nobody gets what he could not get by
NATS, and an export by HTTP is bounded as all exports are.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import msgspec
from msgspec import Struct

from framework.errors import BadQuery, DownloadRefused
from framework.spec import Download, DownloadRequest, DownloadSpec, InQuery, Unsigned
from framework.wire.arrow import END
from framework.wire.subject import is_valid_subject
from framework_jetstream.api.errors import ErrCode
from framework_jetstream.exports.client import Client
from framework_jetstream.exports.table import COLUMNS, table_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from framework.spec import ServerContext
    from framework_jetstream.exports.client import Message
    from framework_jetstream.exports.table import Table

FOLDER: Final = "/stream/"
FRAMES_AHEAD: Final = 2
"""One is sent while the next one is made."""
FRAME_DEADLINE_S: Final = 60.0
_ANSWER, _FRAMES = "answer", "frames"
_END_OF_EXPORT: Final = 204
_NO_RESPONDERS: Final = 503
_PASSED_ON: Final = {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.SERVICE_UNAVAILABLE}


class ExportOptions(Struct, frozen=True, kw_only=True):
    """What of a stream is wanted."""

    seq: Annotated[Unsigned, InQuery("from")] = 0
    up_to_seq: Annotated[Unsigned, InQuery("to")] = 0
    """The last one; 0: the last one there is now."""
    start_time: str = ""
    up_to_time: str = ""
    filter_subjects: Annotated[tuple[str, ...], InQuery("subject")] = ()
    columns: tuple[str, ...] = ()
    domain: str = ""
    """JetStream domain; empty: that of the server."""


class FileForm(Protocol):
    """Makes a file of the batches of an export."""

    def begin(self) -> bytes:
        """Return how it begins."""
        ...

    def add(self, batch: bytes) -> bytes:
        """Take a batch; return what can be sent now, empty: nothing yet."""
        ...

    def end(self) -> bytes:
        """Return the rest."""
        ...


class ArrowStream:
    """Batches as they come, between schema and end.

    Args:
        table: What each batch has.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def begin(self) -> bytes:
        """Return the schema."""
        return self._table.schema

    def add(self, batch: bytes) -> bytes:
        """Return the batch."""
        return batch

    def end(self) -> bytes:
        """Return the mark of the end."""
        return END


def _parquet(table: Table) -> FileForm:
    from framework_jetstream.exports.parquet import ParquetFile  # noqa: PLC0415 - when asked for

    return ParquetFile(table)


_FORMS: Final[Mapping[str, tuple[str, Callable[[Table], FileForm]]]] = {
    ".arrows": ("application/vnd.apache.arrow.stream", ArrowStream),
    ".parquet": ("application/vnd.apache.parquet", _parquet),
}


def downloads(server: ServerContext) -> DownloadSpec:
    """Return the folder of streams.

    Args:
        server: Where who asks becomes a client.
    """

    async def begin(request: DownloadRequest) -> Download:
        return await _begin(server, request)

    return DownloadSpec(
        folder=FOLDER,
        open=begin,
        options=ExportOptions,
        help="Streams as tables: STREAM.arrows, STREAM.parquet",
    )


async def _begin(server: ServerContext, request: DownloadRequest) -> Download:
    stream, dot, suffix = request.name.rpartition(".")
    form = _FORMS.get(dot + suffix)
    if form is None or not stream:
        raise DownloadRefused(404, f"expected {FOLDER}STREAM{f' or {FOLDER}STREAM'.join(_FORMS)}")
    if not is_valid_subject(stream) or any(it in stream for it in ".*>"):
        raise DownloadRefused(404, f"no stream can be called {stream!r:.80}")
    options = request.options
    if options.domain and (not is_valid_subject(options.domain) or "." in options.domain):
        raise BadQuery(f"no domain can be called {options.domain!r:.80}")
    sock = server.connect_in_process(request.host, request.port)
    client = await Client.connect(sock, request.credentials, f"GET {FOLDER}{request.name}")
    try:
        export = _Export(client, stream, options)
        table = await export.begin()
    except BaseException:
        client.close()
        raise
    content_type, make = form
    pieces = _pieces(export, make(table))
    return Download(content_type=content_type, pieces=pieces, close=client.close)


async def _pieces(export: _Export, form: FileForm) -> AsyncGenerator[bytes, None]:
    yield form.begin()
    while batch := await export.next():
        if part := form.add(batch):
            yield part
    yield form.end()


class _Export:
    """An export of a stream, as a client has it."""

    def __init__(self, client: Client, stream: str, options: ExportOptions) -> None:
        self._client = client
        self._stream = stream
        self._options = options
        self._api = f"$JS.{options.domain}.API" if options.domain else "$JS.API"
        self._frames = ""
        """Where they are asked for; empty: there are none, or none any more."""

    async def begin(self) -> Table:
        """Begin it, and return what it brings.

        Raises:
            DownloadRefused: The user may not, or there is nothing to be had.
            BadQuery: What is asked for makes no sense.
        """
        self._client.publish(f"{self._api}.STREAM.EXPORT.{self._stream}", _ANSWER, self._wanted())
        try:
            info = _info_of(await self._client.next(_ANSWER))
        except TimeoutError:
            raise DownloadRefused(503, "no server of the stream exports it") from None
        table = table_of(info["columns"])
        if info["id"]:
            self._frames = f"{self._api}.CONSUMER.MSG.NEXT.{self._stream}.{info['id']}"
            self._ask(FRAMES_AHEAD)
            # The schema: `table` has it. Whoever may not read the stream does not get it.
            await self._next_frame()
        return table

    async def next(self) -> bytes:
        """Return the next batch; empty: there is none.

        Raises:
            ConnectionError: The export has ended before.
            DownloadRefused: Likewise, with the reason.
        """
        if not self._frames:
            return b""
        frame = await self._next_frame()
        if not frame.status:
            self._ask(1)
            return frame.payload
        self._frames = ""
        if frame.status != _END_OF_EXPORT:
            raise ConnectionError(f"the export ended: {frame.header[:80]!r}")
        return b""

    def _ask(self, count: int) -> None:
        self._client.publish(self._frames, _FRAMES, {"batch": count})

    async def _next_frame(self) -> Message:
        # A filter that few messages match may be long at it.
        return await self._client.next(_FRAMES, FRAME_DEADLINE_S)

    def _wanted(self) -> dict[str, Any]:
        """Return the request; what the query does not say is not in it."""
        options = self._options
        wanted = {
            "seq": options.seq,
            "up_to_seq": options.up_to_seq,
            "start_time": options.start_time,
            "up_to_time": options.up_to_time,
            "filter_subjects": list(options.filter_subjects),
            "columns": list(options.columns),
        }
        return {name: it for name, it in wanted.items() if it}


def _info_of(answer: Message) -> dict[str, Any]:
    """Return what the server says of an export that it has begun."""
    if answer.status == _NO_RESPONDERS:
        raise DownloadRefused(503, "no server has streams for this account")
    info: dict[str, Any] = msgspec.json.decode(answer.payload)
    error = info.get("error")
    if error:
        status, text = error.get("code"), error.get("description", "")
        # What `plan_of` refuses has the code of all that a stream refuses, and the status 500.
        if status == HTTPStatus.BAD_REQUEST or error.get("err_code") == ErrCode.STREAM_GENERAL:
            raise BadQuery(text)
        raise DownloadRefused(status if status in _PASSED_ON else 503, text)
    if not set(info.get("columns", ())) <= COLUMNS.keys():
        raise DownloadRefused(503, "the server of the stream exports other columns than this one")
    return info
