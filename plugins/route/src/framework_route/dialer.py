"""Dial targets: when, how often, and when to give up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import Level, Noted, Wait
from framework_route.effect import Dial
from framework_route.limits import (
    CONNECT_DELAY_MAX_S,
    CONNECT_DELAY_S,
    CONNECT_ERROR_REPORTS,
    HEALING_ATTEMPTS,
    LOST_ATTEMPTS,
    LOST_DELAY_GROWTH,
    LOST_DELAY_MAX_S,
    LOST_DELAY_S,
    OWN_ADDRESSES_MAX,
    RECONNECT_DELAY_S,
    RECONNECT_JITTER_S,
    RELOADED_JITTER_S,
)
from framework_route.peer import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.peering import PeerUrl
    from framework_route.effect import MeshEffect
    from framework_route.peer import Slot

_DOUBLINGS_MAX = 8
"""More of them would pass the greatest delay anyway."""


class Dialer:
    """Hold every target without a connection.

    A configured server is tried for ever, one known by gossip as often as `connect_retries` says.
    There nats-server stops, and two servers that could not reach each other for a moment stay
    apart; here further attempts follow, seldom and quietly, so that a network heals by itself.
    A server whose route was lost is tried often at first, whether it is configured or not: most
    that break down, or are cut off, are back within seconds.

    Args:
        retries: `connect_retries`: further attempts, each a second after the last; at least 0.
        has_backoff: Double the delay between attempts.
        tokens: Numbers that nobody has had yet.
    """

    __slots__ = ("_has_backoff", "_places", "_retries", "_targets", "_tokens")

    def __init__(self, *, retries: int, has_backoff: bool, tokens: Iterator[int]) -> None:
        self._targets: dict[int, Target] = {}
        self._places: dict[Slot, int] = {}
        self.configure(retries=retries, has_backoff=has_backoff)
        self._tokens = tokens

    def configure(self, *, retries: int, has_backoff: bool) -> None:
        """Dial like that from now on; arguments as those of the class."""
        assert retries >= 0
        self._retries = retries
        self._has_backoff = has_backoff

    @property
    def targets(self) -> Sequence[Target]:
        """Return what is being dialed, or waits for it."""
        return tuple(self._targets.values())

    @property
    def places_count(self) -> int:
        """Return how many connections are being dialed to servers that are not configured."""
        return len(self._places)

    def next_token(self) -> int:
        """Return a token that no target and no wait has had."""
        return next(self._tokens)

    def is_dialing(self, slot: Slot) -> bool:
        """Tell whether a place at a known server is being dialed already."""
        return slot in self._places

    def add(
        self, url: PeerUrl, *, is_explicit: bool, remote_id: str = "", slot: Slot | None = None
    ) -> Target:
        """Remember a new target; nothing is dialed yet."""
        target = Target(self.next_token(), url, is_explicit, remote_id, slot)
        self._hold(target)
        return target

    def take(self, token: int) -> Target | None:
        """Hand out a target: it was reached, or is wanted no more; None if it never was one."""
        target = self._targets.pop(token, None)
        if target is not None and self._places.get(target.place) == token:
            del self._places[target.place]
        return target

    def find(self, token: int) -> Target | None:
        """Return the target whose wait is over."""
        return self._targets.get(token)

    def dial(self, target: Target) -> Sequence[MeshEffect]:
        """Try to reach a target now."""
        trying = "Trying to connect to route on {address}"
        return [
            Noted(Level.DEBUG, trying, {"address": target.url.address}),
            Dial(
                target.token,
                target.url,
                target.address,
                target.own_addresses,
                # At first where it was before: who has only broken down is back there.
                max(0, target.refusals + target.lost_attempts - 1),
            ),
        ]

    def dial_soon(self, target: Target) -> Sequence[MeshEffect]:
        """Try to reach a target in a moment: a reload has ended its connection, or asks for one."""
        self._hold(target)
        return [Wait(target.token, 0.0, RELOADED_JITTER_S)]

    def redial(self, target: Target) -> Sequence[MeshEffect]:
        """Try to reach a target again after its connection ended.

        Who was a route is tried at once but for the jitter. A server that ends one connection
        after the other, say because our login is wrong, is asked less and less often.
        """
        delay_s = self._lost_delay_s(target)
        if delay_s is None:
            target.refusals += 1
            delay_s = self._refused_delay_s(target)
        if not target.is_explicit and target.refusals > HEALING_ATTEMPTS:
            given_up = 'Giving up route "{url}", which has refused us {count} times'
            return [Noted(Level.WARNING, given_up, {"url": target.url, "count": HEALING_ATTEMPTS})]
        self._hold(target)
        attempting = 'Attempting reconnect for solicited route "{url}"'
        return [
            Noted(Level.DEBUG, attempting, {"url": target.url}),
            Wait(target.token, delay_s, RECONNECT_JITTER_S),
        ]

    def _refused_delay_s(self, target: Target) -> float:
        """Return the time from the end of a connection to the next attempt."""
        is_pressing = target.is_explicit and target.slot is None
        if target.refusals > 1 and (self._has_backoff or not is_pressing):
            return _doubled(target.refusals - 1)
        return RECONNECT_DELAY_S if target.is_explicit else 0.0

    def _lost_delay_s(self, target: Target) -> float | None:
        """Return the time to the next attempt at a lost route; None: it is as any other by now."""
        if not target.was_route or target.lost_attempts >= LOST_ATTEMPTS:
            return None
        growth = 2.0 if self._has_backoff else LOST_DELAY_GROWTH
        delay_s = LOST_DELAY_S * growth ** (target.lost_attempts - 1)
        if self._has_backoff and delay_s >= CONNECT_DELAY_S:
            return None
        target.lost_attempts += 1
        if target.lost_attempts == 1:
            return 0.0
        return delay_s if self._has_backoff else min(delay_s, LOST_DELAY_MAX_S)

    def dial_elsewhere(self, target: Target, own_address: str) -> Sequence[MeshEffect]:
        """Try the other addresses of a host that is this server itself at one of them, if any."""
        is_exhausted = (
            target.url.is_address
            or target.slot is not None
            or own_address in target.own_addresses
            or len(target.own_addresses) == OWN_ADDRESSES_MAX
        )
        if is_exhausted:
            return [_ignored(target)]
        target.own_addresses += (own_address,)
        self._hold(target)
        return self.dial(target)

    def fail(self, token: int, error: str, *, is_none_left: bool = False) -> Sequence[MeshEffect]:
        """Count a failure to reach a target; wait for the next attempt, or give it up.

        Args:
            token: Of the target.
            error: For the log.
            is_none_left: Its host has no address but our own.
        """
        target = self._targets.get(token)
        if target is None:
            return []
        if is_none_left and not target.remote_id:
            self.take(token)
            return [_ignored(target)]
        target.dial_failures += 1
        lost_delay_s = self._lost_delay_s(target)
        noted = Noted(
            _level_of(target, is_soon=lost_delay_s is not None),
            "Error trying to connect to route (attempt {count}): {error}",
            {"count": target.dial_failures, "error": error},
        )
        if lost_delay_s is not None:
            return [noted, Wait(token, lost_delay_s, RECONNECT_JITTER_S)]
        failures = max(1, target.dial_failures - max(0, target.lost_attempts - 1))
        if not target.is_explicit and failures > self._retries + HEALING_ATTEMPTS:
            self.take(token)
            return [noted]
        return [noted, Wait(token, self._failed_delay_s(target, failures))]

    def _failed_delay_s(self, target: Target, failures: int) -> float:
        """Return the time from a failure to reach a target to the next attempt."""
        if not target.is_explicit and failures > self._retries:
            is_lost_route = target.was_reached
            return _doubled(failures) if is_lost_route else CONNECT_DELAY_MAX_S
        return _doubled(failures) if self._has_backoff else CONNECT_DELAY_S

    def _hold(self, target: Target) -> None:
        self._targets[target.token] = target
        if target.slot is not None or not target.is_explicit:
            self._places[target.place] = target.token


def _doubled(times: int) -> float:
    """Return the delay after `times` failures in a row; at least 1."""
    return min(CONNECT_DELAY_S * 2.0 ** min(times - 1, _DOUBLINGS_MAX), CONNECT_DELAY_MAX_S)


def _ignored(target: Target) -> MeshEffect:
    detected = 'Detected route to self, ignoring "{url}"'
    return Noted(Level.DEBUG, detected, {"url": target.url})


def _level_of(target: Target, *, is_soon: bool) -> Level:
    """Return how loud a failure is: a configured route that broke is an error each time.

    What was never reached, or is not configured, is reported once and then now and then.

    Args:
        target: That could not be reached.
        is_soon: The next attempt follows soon, so only every doubling of their count is an error.
    """
    count = target.dial_failures
    if not (target.was_reached and target.is_explicit):
        is_reported = count == 1 or count % CONNECT_ERROR_REPORTS == 0
    elif is_soon:
        is_reported = count & (count - 1) == 0
    else:
        is_reported = True
    return Level.ERROR if is_reported else Level.DEBUG
