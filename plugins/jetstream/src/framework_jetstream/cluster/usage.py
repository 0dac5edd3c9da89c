"""What the streams of an account take on all servers together.

Source: nats-server `jetstream.go`, `JetStreamUsage`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from framework.actors import Reply
from framework.spec import ALL_TIERS, JetStreamLimits
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
from framework_jetstream.meta.letters import PREFIX
from framework_jetstream.stream.account_limits import NO_LIMITS, reserved_bytes, tier_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from framework_jetstream.api.usage import ApiUsage
    from framework_jetstream.exchange import Arrived, Exchange
    from framework_jetstream.meta.assignments import Asset
    from framework_jetstream.meta.state import MetaState
    from framework_jetstream.stream.census import StreamCount


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
        count: Counts the streams of this server.
    """

    def __init__(
        self,
        *,
        exchange: Exchange,
        peer: str,
        usage: ApiUsage,
        tiers_of: Callable[[str], Mapping[str, JetStreamLimits] | None],
        count: Callable[[Reply[list[StreamCount]]], object],
    ) -> None:
        self._exchange = exchange
        self._peer = peer
        self._usage = usage
        self._tiers_of = tiers_of
        self._count = count

    def begin(self, account: int) -> None:
        """Answer from now on, in the system account, whose number it is."""

        def arrived(messages: Sequence[Arrived]) -> None:
            for it in messages:
                self._answer(account, it)

        self._exchange.subscribe(account, usage_subject(self._peer), arrived)

    def _answer(self, number: int, asked: Arrived) -> None:
        account = account_of(asked.header)
        tiers = self._tiers_of(account) or {}

        def say(told: Reply[list[StreamCount]]) -> None:
            counts = [it for it in told.get() if it.entry.account == account]
            used = {name: _used(tiers, name, counts) for name in tiers}
            api = self._usage.stats_of(account)
            said = {"tiers": used, "requests": api.total, "errors": api.errors}
            self._exchange.publish(number, asked.reply, json.dumps(said).encode())

        if asked.reply:
            reply = Reply[list["StreamCount"]]()
            reply.when_done(say)
            self._count(reply)


def account_of(header: bytes) -> str:
    """Return the account that a header of a request names; empty: none."""
    _, _, value = header.decode("utf-8", "replace").partition(f"{INFO_HEADER}: ")
    try:
        return str(json.loads(value.partition("\r\n")[0])["acc"])
    except (ValueError, KeyError, TypeError):
        return ""


def _used(
    tiers: Mapping[str, JetStreamLimits], name: str, counts: Iterable[StreamCount]
) -> tuple[int, int]:
    """Return the bytes in memory and in files of the streams of a tier."""
    mine = [it for it in counts if tier_of(tiers, it.entry.config.num_replicas) == name]
    in_memory = sum(it.bytes for it in mine if it.entry.config.storage == "memory")
    return in_memory, sum(it.bytes for it in mine) - in_memory


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
    configs = {
        it: msgspec.json.decode(found.config, type=StreamConfig)
        for it, found in state.streams_of(account).items()
    }
    by_tier = {name: _tier(name, tiers, state, configs, answers) for name in tiers}
    is_one = ALL_TIERS in tiers
    whole = by_tier[ALL_TIERS] if is_one else _sum(by_tier.values())
    stats = AccountStats(
        **msgspec.structs.asdict(whole),
        domain=domain,
        api=ApiStats(
            level=level,
            total=sum(int(it.get("requests", 0)) for it in answers),
            errors=sum(int(it.get("errors", 0)) for it in answers),
        ),
        tiers=None if is_one else by_tier,
    )
    fields: dict[str, Any] = plain(stats)
    return fields


def _tier(
    name: str,
    tiers: Mapping[str, JetStreamLimits],
    state: MetaState,
    configs: Mapping[Asset, StreamConfig],
    said: Sequence[Mapping[str, Any]],
) -> TierStats:
    mine = [it for it in configs.values() if tier_of(tiers, it.num_replicas) == name]
    used = [it.get("tiers", {}).get(name, (0, 0)) for it in said]
    consumers = 0
    for asset, config in configs.items():
        for it in state.consumers(asset).values():
            wanted = msgspec.json.decode(it.config, type=ConsumerConfig)
            replicas = replicas_of(wanted, config) or config.num_replicas
            consumers += tier_of(tiers, replicas) == name
    return TierStats(
        memory=sum(in_memory for in_memory, _ in used),
        storage=sum(in_files for _, in_files in used),
        reserved_memory=reserved_bytes(mine, "memory"),
        reserved_storage=reserved_bytes(mine, "file"),
        streams=len(mine),
        consumers=consumers,
        limits=tiers[name],
    )


def _sum(tiers: Iterable[TierStats]) -> TierStats:
    found = list(tiers)
    fields = [name for name in TierStats.__struct_fields__ if name != "limits"]
    return TierStats(
        limits=NO_LIMITS, **{name: sum(getattr(it, name) for it in found) for name in fields}
    )
