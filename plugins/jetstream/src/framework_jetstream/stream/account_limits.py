"""What an account may store, and what of it is taken.

Source: nats-server `jetstream.go`, `checkLimits`, `checkBytesLimits`, `selectLimits`,
`tieredReservation`, `JetStreamUsage`; `jetstream_api.go`, `jsNonClusteredStreamLimitsCheck`;
`stream.go`, `checkStreamCfg`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.spec import ALL_TIERS, JetStreamLimits
from framework_jetstream.api import pedantic
from framework_jetstream.api.account_streams import Reservations
from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import TierStats
from framework_jetstream.api.times import go_duration
from framework_jetstream.stream.census import Totals
from framework_jetstream.stream.rules import WINDOW_NS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from framework_jetstream.api.records import StreamConfig, StreamConfigRequest
    from framework_jetstream.config import JetStreamConfig
    from framework_jetstream.stream.census import StreamCount

NO_LIMITS: Final = JetStreamLimits(
    max_memory=0,
    max_storage=0,
    max_streams=0,
    max_consumers=0,
    max_ack_pending=0,
    memory_max_stream_bytes=0,
    storage_max_stream_bytes=0,
)
"""Shown in all for an account that has tiers."""


def tier_of(tiers: Mapping[str, JetStreamLimits], replicas: int) -> str | None:
    """Return the tier of streams of so many replicas; None: they may not be."""
    if ALL_TIERS in tiers:
        return ALL_TIERS
    name = f"R{max(replicas, 1)}"
    return name if name in tiers else None


def of_tier(
    tiers: Mapping[str, JetStreamLimits], name: str, counts: Iterable[StreamCount]
) -> list[StreamCount]:
    """Return the streams of a tier."""
    return [it for it in counts if tier_of(tiers, it.entry.config.num_replicas) == name]


def limits_for(tiers: Mapping[str, JetStreamLimits], replicas: int) -> JetStreamLimits:
    """Return the limits of streams of so many replicas.

    Raises:
        ApiFailure: The account has no tier for them.
    """
    tier = tier_of(tiers, replicas)
    if tier is None:
        raise failure(ErrCode.NO_LIMITS)
    return tiers[tier]


def check_stream(
    tiers: Mapping[str, JetStreamLimits],
    config: StreamConfig,
    others: Reservations,
    *,
    is_new: bool,
) -> None:
    """Raise ApiFailure where an account may not have a stream like this.

    Args:
        tiers: Of the account.
        config: With its defaults.
        others: By all other streams of the account.
        is_new: It is none that was there.
    """
    limits = limits_for(tiers, config.num_replicas)
    tier = tier_of(tiers, config.num_replicas)
    same = [it for it in others.all() if tier_of(tiers, it.replicas) == tier]
    if is_new and 0 < limits.max_streams <= sum(it.streams for it in same):
        raise failure(ErrCode.MAXIMUM_STREAMS_REACHED)
    if 0 < limits.max_consumers < config.max_consumers:
        raise failure(ErrCode.MAXIMUM_CONSUMERS_REACHED)
    in_memory = config.storage == "memory"
    most = limits.max_memory if in_memory else limits.max_storage
    wanted = config.max_bytes if config.max_bytes >= 0 else 1
    reserved = sum(it.bytes for it in same if it.storage == config.storage)
    if most >= 0 and reserved + wanted > most:
        raise failure(
            ErrCode.MEMORY_RESOURCES_EXCEEDED if in_memory else ErrCode.STORAGE_RESOURCES_EXCEEDED
        )
    _check_max_bytes(limits, config)


def check_server(server: JetStreamConfig, config: StreamConfig, others: Reservations) -> None:
    """Raise ApiFailure where this server has no room for what a stream wants to reserve.

    Args:
        server: What there is.
        config: With its defaults.
        others: By all other streams of all accounts.
    """
    window_ns = server.limits.max_duplicate_window
    if 0 < window_ns < config.duplicate_window:
        longest = go_duration(window_ns)
        raise failure(
            ErrCode.STREAM_INVALID_CONFIG,
            err=f"duplicates window can not be larger then server limit of {longest}",
        )
    in_memory = config.storage == "memory"
    most = server.max_memory if in_memory else server.max_file
    wanted = config.max_bytes if config.max_bytes >= 0 else 1
    if most >= 0 and others.bytes_of(config.storage) + wanted > most:
        raise failure(
            ErrCode.MEMORY_RESOURCES_EXCEEDED if in_memory else ErrCode.STORAGE_RESOURCES_EXCEEDED
        )


def fill_in_window(server: JetStreamConfig, wanted: StreamConfigRequest) -> None:
    """Set the window of duplicates that a request leaves to the server, where it has a limit.

    Raises:
        ApiFailure: The request is pedantic, and leaves to the server what it should say.
    """
    limit_ns = server.limits.max_duplicate_window
    if wanted.pedantic:
        pedantic.check_stream(wanted, WINDOW_NS, limit_ns)
    if (
        0 < limit_ns < WINDOW_NS
        and not wanted.duplicate_window
        and not (wanted.mirror or wanted.sources)
    ):
        ages = [wanted.max_age] if wanted.max_age > 0 else []
        wanted.duplicate_window = min(limit_ns, *ages) if ages else limit_ns


def _check_max_bytes(limits: JetStreamLimits, config: StreamConfig) -> None:
    if limits.max_bytes_required and config.max_bytes <= 0:
        raise failure(ErrCode.STREAM_MAX_BYTES_REQUIRED)
    most = (
        limits.memory_max_stream_bytes
        if config.storage == "memory"
        else limits.storage_max_stream_bytes
    )
    if 0 < most < config.max_bytes:
        raise failure(ErrCode.STREAM_MAX_STREAM_BYTES_EXCEEDED)


def usage_of(
    totals: Totals, reserved: Reservations, consumers: int, limits: JetStreamLimits
) -> TierStats:
    """Return what streams take, beside what they may."""
    return TierStats(
        memory=totals.memory,
        storage=totals.storage,
        reserved_memory=reserved.bytes_of("memory"),
        reserved_storage=reserved.bytes_of("file"),
        streams=reserved.streams,
        consumers=consumers,
        limits=limits,
    )


def usage_by_tier(
    counts: Sequence[StreamCount], tiers: Mapping[str, JetStreamLimits]
) -> tuple[TierStats, dict[str, TierStats]]:
    """Return what the streams of an account with tiers take: in all, and of each tier."""

    def add_up(counts: Sequence[StreamCount], limits: JetStreamLimits) -> TierStats:
        reserved = Reservations.of(it.entry.config for it in counts)
        consumers = sum(it.entry.consumer_count for it in counts)
        return usage_of(Totals.of(counts), reserved, consumers, limits)

    by_tier = {name: add_up(of_tier(tiers, name, counts), limits) for name, limits in tiers.items()}
    return add_up(counts, NO_LIMITS), by_tier
