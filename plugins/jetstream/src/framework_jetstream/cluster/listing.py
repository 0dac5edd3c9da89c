"""Names and lists of streams and consumers, as the meta leader knows them and their leaders say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework_jetstream.api.answers import LIST_MAX, NAMES_MAX, answer, page
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import PagedRequest, StreamNamesRequest
from framework_jetstream.api.requests import read
from framework_jetstream.meta.assignments import Asset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework_jetstream.api.subjects import ApiSubject
    from framework_jetstream.cluster.office import Office
    from framework_jetstream.jet_stream import JetStream


class Listing:
    """Says what there is, page by page.

    Args:
        office: Of the meta leader.
    """

    def __init__(self, office: Office) -> None:
        self._office = office

    def name_streams(self, request: JetStream.ApiRequest, _: ApiSubject) -> None:
        """Answer with names of streams."""
        wanted = read(StreamNamesRequest, request.payload, is_strict=self._office.host.is_strict)
        names = self._stream_names(request.account, wanted.subject)
        request.reply.set(answer("stream_names", page(names, wanted.offset, NAMES_MAX, "streams")))

    def _stream_names(self, account: str, subject: str) -> Sequence[str]:
        """Return names of an account's streams; where there is a subject, of those that hold it."""
        kept = self._office.view.machine.state.account(account)
        return kept.holding(subject) if subject else kept.names

    def list_streams(self, request: JetStream.ApiRequest, _: ApiSubject) -> None:
        """Answer with streams, as who leads each says."""
        wanted = read(StreamNamesRequest, request.payload, is_strict=self._office.host.is_strict)
        names = self._stream_names(request.account, wanted.subject)
        self._list(request, ("streams", "STREAM.INFO."), names, wanted.offset)

    def _list(
        self,
        request: JetStream.ApiRequest,
        what: tuple[str, str],
        names: Sequence[str],
        offset: int,
    ) -> None:
        """Answer with what leaders say of a page of streams or consumers."""
        kind, subject = what
        begin = min(max(offset, 0), len(names))
        shown, total = names[begin : begin + LIST_MAX], len(names)

        def done(infos: list[dict[str, Any]], missing: list[str]) -> None:
            paged = {"total": total, "offset": begin, "limit": LIST_MAX, kind: infos}
            more = {"missing": missing} if missing else {}
            request.reply.set(answer(f"{kind[:-1]}_list", {**paged, **more}))

        subjects = {name: f"$JS.API.{subject}{name}" for name in shown}
        self._office.gathering.ask(request.account, subjects, done)

    def name_consumers(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Answer with names of a stream's consumers."""
        wanted = read(PagedRequest, request.payload, is_strict=self._office.host.is_strict)
        state, asset = self._office.view.machine.state, Asset(request.account, found.stream)
        if state.stream(asset) is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        names = sorted(state.consumers(asset))
        paged = page(names, wanted.offset, NAMES_MAX, "consumers")
        request.reply.set(answer("consumer_names", paged))

    def list_consumers(self, request: JetStream.ApiRequest, found: ApiSubject) -> None:
        """Answer with a stream's consumers, as who leads each says."""
        wanted = read(PagedRequest, request.payload, is_strict=self._office.host.is_strict)
        state, asset = self._office.view.machine.state, Asset(request.account, found.stream)
        if state.stream(asset) is None:
            raise failure(ErrCode.STREAM_NOT_FOUND)
        what = ("consumers", f"CONSUMER.INFO.{found.stream}.")
        self._list(request, what, sorted(state.consumers(asset)), wanted.offset)
