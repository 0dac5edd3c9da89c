"""What `/healthz` says of a server that shares streams.

Source: nats-server `monitor.go`, `healthz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.spec import HealthProblem
from framework_jetstream.api.saved import words_of_ranges
from framework_jetstream.meta.assignments import Asset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.spec import HealthQuestion
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.stream.book import StreamBook

LAG_MAX: Final = 64
"""Entries of the meta group that may not be applied yet by who is current."""


_HOW: Final = "other servers give it back, as soon as a majority is there, and one that has all"
_REPAIRS: Final = (
    f"JetStream is repairing {{what}} '{{name}}': something of it is lost here{{lost}}; {_HOW}"
)
_DIFFERS: Final = (
    "JetStream {{what}} '{{name}}' has come to differ: what its entries have led to is not the same"
    " at {} and here"
)


def meta_problem(view: ClusterView) -> str:
    """Return what is wrong with the meta group here; empty: nothing."""
    state = view.state
    if view.is_founded and state.is_lost:
        return f"JetStream is repairing: what it had of the meta group is lost here; {_HOW}"
    if not view.is_founded or not state.leader:
        return "JetStream has not established contact with a meta leader"
    is_current = not state.is_catching_up and state.commit - state.applied <= LAG_MAX
    return "" if is_current else "JetStream is not current with the meta leader"


def assigned_problems(
    view: ClusterView, book: StreamBook, question: HealthQuestion
) -> Sequence[HealthProblem]:
    """Return what this server is to have, by the meta group, and has not."""
    if problem := _not_found(view, question):
        return [problem]
    return [*_missing(view, book, question), *_differing(book, question)]


def _not_found(view: ClusterView, question: HealthQuestion) -> HealthProblem | None:
    """Return that what was asked for is not this server's."""
    account, stream, consumer = question.account, question.stream, question.consumer
    names = {"account": account, "stream": stream, "consumer": consumer}
    machine = view.machine
    if not account:
        return None
    if not machine.state.streams_of(account):
        text = f'JetStream account "{account}" not found'
        return HealthProblem(kind="ACCOUNT", error=text, is_missing=True, account=account)
    if stream and not machine.runs_here(Asset(account, stream)):
        text = f'JetStream stream "{stream}" not found on account "{account}"'
        del names["consumer"]
        return HealthProblem(kind="STREAM", error=text, is_missing=True, **names)
    if consumer and not machine.runs_here(Asset(account, stream, consumer)):
        text = (
            f'JetStream consumer "{consumer}" not found for stream "{stream}"'
            f' on account "{account}"'
        )
        return HealthProblem(kind="CONSUMER", error=text, is_missing=True, **names)
    return None


def _missing(
    view: ClusterView, book: StreamBook, question: HealthQuestion
) -> Iterator[HealthProblem]:
    asked = (question.account, question.stream, question.consumer)
    lacks = book.lacks
    for asset, _ in view.machine.assets_here():
        if not lacks(*asset):  # as of almost all of thousands
            continue
        if not all(want in {"", have} for want, have in zip(asked, asset, strict=True)):
            continue
        entry = book.get(asset.account, asset.stream)
        if entry is not None and (not asset.consumer or asset.consumer in entry.consumers):
            ranges = () if asset.consumer else book.losses(asset.account, asset.stream)
            lost = f" (sequences {words_of_ranges(ranges)})" if ranges else ""
            yield _problem(asset, _REPAIRS, lost)
        elif entry is not None or not asset.consumer:  # of a missing stream it alone is told
            yield _problem(asset, "JetStream {what} '{name}' is not current: {what} not found")


def _differing(book: StreamBook, question: HealthQuestion) -> Iterator[HealthProblem]:
    """Say which streams that are led here have come to differ at another server."""
    for (account, stream), servers in book.all_differing():
        if question.account not in {"", account} or question.stream not in {"", stream}:
            continue
        if not question.consumer:
            yield _problem(Asset(account, stream), _DIFFERS.format(", ".join(servers)))


def _problem(asset: Asset, words: str, lost: str = "") -> HealthProblem:
    """Say what is wrong with an asset, by words that name it, and what of it is lost."""
    what = "consumer" if asset.consumer else "stream"
    return HealthProblem(
        kind="CONSUMER" if asset.consumer else "STREAM",
        error=words.format(what=what, name=" > ".join(it for it in asset if it), lost=lost),
        account=asset.account,
        stream=asset.stream,
        consumer=asset.consumer,
    )
