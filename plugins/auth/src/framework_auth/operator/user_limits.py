"""Source networks and times of users.

Source: nats-server `jwt.go`, `validateSrc`, `validateTimes`; `client.go`, `setExpiration`.
"""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import time

    from framework_auth.claims import TimeRange, UserRules


def is_source_allowed(networks: Sequence[str], host: str) -> bool:
    """Tell whether a user may connect from an address.

    Args:
        networks: In CIDR notation; none: from everywhere.
        host: IP address of the client.
    """
    if not networks:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    candidates = [address, mapped] if mapped else [address]
    return any(
        candidate in ipaddress.ip_network(network, strict=False)
        for network in networks
        for candidate in candidates
    )


def time_left_s(rules: UserRules, now_s: float) -> float | None:
    """Return for how long a user may be connected from now on.

    Args:
        rules: With their hours of the day.
        now_s: Unix time.

    Returns:
        Seconds; 0: for ever; None: not now.
    """
    if not rules.times:
        return 0.0
    zone = ZoneInfo(rules.locale) if rules.locale else None
    now = datetime.fromtimestamp(now_s, zone).astimezone(zone)
    left = [it for it in (_left_of(span, now) for span in rules.times) if it is not None]
    return max(left, default=None)


def _left_of(span: TimeRange, now: datetime) -> float | None:
    """Return the seconds left of one span of hours; None when it is not now."""

    def at(clock: time, days: int = 0) -> datetime:
        return datetime.combine(now.date() + timedelta(days=days), clock, tzinfo=now.tzinfo)

    start, end = at(span.start), at(span.end)
    if start < now < end:
        return (end - now).total_seconds()
    if start <= end:
        return None
    if now < end:
        return (end - now).total_seconds()
    tomorrow = at(span.end, days=1)
    return (tomorrow - now).total_seconds() if start < now else None
