"""What the streams of an account take on all servers together.

Source: nats-server `jetstream.go`, `JetStreamUsage`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from framework.actors import Reply
from framework.spec import ALL_TIERS, JetStreamLimits
from framework_jetstream.api.account_streams import Reservations
from framework_jetstream.api.asker import INFO_HEADER
from framework_jetstream.api.records import (
    AccountStats,
    ApiStats,
    ConsumerConfig,
    StreamConfig,
    TierStats,
    plain,
)
from framework_jetstream.consumer.rules import replicas_of
from framework_jetstream.jet_stream import JetStream
from framework_jetstream.meta.letters import PREFIX
from framework_jetstream.stream.account_limits import NO_LIMITS, of_tier, tier_of, usage_of
from framework_jetstream.stream.census import StreamCount, Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.meta.assignments import Asset
    from framework_jetstream.meta.state import MetaState
    from framework_jetstream.stream.book import StreamEntry


def usage_subject(peer: str) -> str:
    """Return where a server is asked what an account takes there."""
    return f"{PREFIX}USAGE.{peer}"


class UsageService:
    """Says what an account takes on this server: bytes by tier, and requests.

    Args:
        exchange: The way to other servers.
        peer: This server's id in groups.
        usage: Counts of requests.
        tiers_of: Returns what an account may store, by tier; None: nothing.
        streams_of: Returns the streams of an account on this server.
        tell: Asks the actor that has them.
    """

    def __init__(
        self,
        *,
        exchange: Exchange,
        peer: str,
        usage: ApiUsage,
        tiers_of: Callable[[str], Mapping[str, JetStreamLimits] | None],
        streams_of: Callable[[str], Sequence[StreamEntry]],
        tell: Callable[[object], object],
    ) -> None:
        self._exchange = exchange
        self._peer = peer
        self._usage = usage
        self._tiers_of = tiers_of
        self._streams_of = streams_of
        self._tell = tell

    def begin(self, account: int) -> None:
        """Answer from now on, in the system account, whose number it is."""

        def arrived(messages: Sequence[Arrived]) -> None:
            for it in messages:
                self._answer(account, it)

        self._exchange.subscribe(account, usage_subject(self._peer), arrived)

    def _answer(self, number: int, asked: Arrived) -> None:
        account = account_of(asked.header)

        def say(used: Mapping[str, Totals]) -> None:
            api = self._usage.stats_of(account)
            tiers = {name: (it.memory, it.storage) for name, it in used.items()}
            said = {"tiers": tiers, "requests": api.total, "errors": api.errors}
            self._exchange.publish(number, asked.reply, json.dumps(said).encode())

        if asked.reply:
            self._add_up(account, say)

    def _add_up(self, account: str, then: Callable[[Mapping[str, Totals]], None]) -> None:
        """Tell what an account has here by tier; several are added up stream by stream."""
        tiers = self._tiers_of(account) or {}
        if ALL_TIERS in tiers:
            whole = Reply[list[Totals]]()
            whole.when_done(lambda told: then({ALL_TIERS: told.get()[0]}))
            self._tell(JetStream.AddUp(whole, (account,)))
            return

        def sort(told: Reply[list[StreamCount]]) -> None:
            counts = told.get()
            then({name: Totals.of(of_tier(tiers, name, counts)) for name in tiers})

        each = Reply[list[StreamCount]]()
        each.when_done(sort)
        self._tell(JetStream.Describe(each, self._streams_of(account)))


def account_of(header: bytes) -> str:
    """Return the account that a header of a request names; empty: none."""
    _, _, value = header.decode("utf-8", "replace").partition(f"{INFO_HEADER}: ")
    try:
        return str(json.loads(value.partition("\r\n")[0])["acc"])
    except (ValueError, KeyError, TypeError):
        return ""


def account_stats(
    account: str,
    state: MetaState,
    tiers: Mapping[str, JetStreamLimits],
    said: Iterable[Mapping[str, Any]],
    *,
    domain: str,
    level: int,
) -> dict[str, Any]:
    """Return the answer about an account.

    Args:
        account: Its name.
        state: What is assigned.
        tiers: What it may store.
        said: What servers have said of it.
        domain: Of JetStream.
        level: Of the API.
    """
    answers = list(said)
    by_tier = None
    if ALL_TIERS in tiers:
        consumers = sum(len(state.consumers(it)) for it in state.streams_of(account))
        used, reserved = _used(ALL_TIERS, answers), state.account(account).reserved
        whole = usage_of(used, reserved, consumers, tiers[ALL_TIERS])
    else:
        by_tier = _by_tier(account, state, tiers, answers)
        whole = _sum(by_tier.values())
    stats = AccountStats(
        **msgspec.structs.asdict(whole),
        domain=domain,
        api=ApiStats(
            level=level,
            total=sum(int(it.get("requests", 0)) for it in answers),
            errors=sum(int(it.get("errors", 0)) for it in answers),
        ),
        tiers=by_tier,
    )
    fields: dict[str, Any] = plain(stats)
    return fields


def _used(tier: str, said: Iterable[Mapping[str, Any]]) -> Totals:
    """Return the bytes of a tier on all servers."""
    used = [it.get("tiers", {}).get(tier, (0, 0)) for it in said]
    return Totals(memory=sum(it[0] for it in used), storage=sum(it[1] for it in used))


def _by_tier(
    account: str,
    state: MetaState,
    tiers: Mapping[str, JetStreamLimits],
    said: Sequence[Mapping[str, Any]],
) -> dict[str, TierStats]:
    configs = {
        it: msgspec.json.decode(found.config, type=StreamConfig)
        for it, found in state.streams_of(account).items()
    }
    return {name: _tier(name, tiers, state, configs, said) for name in tiers}


def _tier(
    name: str,
    tiers: Mapping[str, JetStreamLimits],
    state: MetaState,
    configs: Mapping[Asset, StreamConfig],
    said: Sequence[Mapping[str, Any]],
) -> TierStats:
    mine = [it for it in configs.values() if tier_of(tiers, it.num_replicas) == name]
    consumers = 0
    for asset, config in configs.items():
        for it in state.consumers(asset).values():
            wanted = msgspec.json.decode(it.config, type=ConsumerConfig)
            replicas = replicas_of(wanted, config) or config.num_replicas
            consumers += tier_of(tiers, replicas) == name
    return usage_of(_used(name, said), Reservations.of(mine), consumers, tiers[name])


def _sum(tiers: Iterable[TierStats]) -> TierStats:
    found = list(tiers)
    fields = [name for name in TierStats.__struct_fields__ if name != "limits"]
    return TierStats(
        limits=NO_LIMITS, **{name: sum(getattr(it, name) for it in found) for name in fields}
    )
