"""What `/healthz` says of a server that shares streams.

Source: nats-server `monitor.go`, `healthz`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.spec import HealthProblem
from framework_jetstream.api.saved import words_of_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.spec import HealthQuestion
    from framework_jetstream.meta.assignments import Asset
    from framework_jetstream.meta.view import ClusterView
    from framework_jetstream.stream.book import StreamBook

LAG_MAX: Final = 64
"""Entries of the meta group that may not be applied yet by who is current."""


_HOW: Final = "other servers give it back, as soon as a majority is there, and one that has all"
_REPAIRS: Final = (
    f"JetStream is repairing {{what}} '{{name}}': something of it is lost here{{lost}}; {_HOW}"
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
    return list(_missing(view, book, question))


def _not_found(view: ClusterView, question: HealthQuestion) -> HealthProblem | None:
    """Return that what was asked for is not this server's."""
    account, stream, consumer = question.account, question.stream, question.consumer
    names = {"account": account, "stream": stream, "consumer": consumer}
    mine = [it for it, _ in view.machine.state.assets() if it.account == account]
    if not account:
        return None
    if not mine:
        text = f'JetStream account "{account}" not found'
        return HealthProblem(kind="ACCOUNT", error=text, is_missing=True, account=account)
    if stream and not any(_is_of(it, stream) and view.machine.runs_here(it) for it in mine):
        text = f'JetStream stream "{stream}" not found on account "{account}"'
        del names["consumer"]
        return HealthProblem(kind="STREAM", error=text, is_missing=True, **names)
    if consumer and not any(
        _is_of(it, stream, consumer) and view.machine.runs_here(it) for it in mine
    ):
        text = (
            f'JetStream consumer "{consumer}" not found for stream "{stream}"'
            f' on account "{account}"'
        )
        return HealthProblem(kind="CONSUMER", error=text, is_missing=True, **names)
    return None


def _is_of(asset: Asset, stream: str, consumer: str = "") -> bool:
    return (asset.stream, asset.consumer) == (stream, consumer)


def _missing(
    view: ClusterView, book: StreamBook, question: HealthQuestion
) -> Iterator[HealthProblem]:
    for asset, _ in view.machine.state.assets():
        asked = (question.account, question.stream, question.consumer)
        is_meant = all(want in {"", have} for want, have in zip(asked, asset, strict=True))
        if not is_meant or not view.machine.runs_here(asset):
            continue
        entry = book.get(asset.account, asset.stream)
        is_there = entry is not None and (not asset.consumer or asset.consumer in entry.consumers)
        if is_there and book.lacks(*asset):
            ranges = () if asset.consumer else book.losses(asset.account, asset.stream)
            lost = f" (sequences {words_of_ranges(ranges)})" if ranges else ""
            yield _problem(asset, _REPAIRS, lost)
        if is_there or (entry is None and asset.consumer):  # of a missing stream it alone is told
            continue
        yield _problem(asset, "JetStream {what} '{name}' is not current: {what} not found")


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
