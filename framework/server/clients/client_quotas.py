"""Put clients under quotas, which those share that count together."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from framework.spec.quota import QUOTAS_MAX, QuotaRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from structlog.typing import FilteringBoundLogger

    from framework.server.clients.client_row import Client
    from framework.server.plane_port import ServerPlane
    from framework.spec import ConnectionInfo, LinkId, Quota

_Key: TypeAlias = "tuple[str, str, str, str]"
"""Name, subject, what counts together, and who that is."""


class _Shared(Struct):
    """A quota in the plane, and how many clients are under it."""

    number: int
    quota: Quota
    clients: int = 0


class ClientQuotas:
    """Keep the quotas of all clients, as their authenticators and plugins say.

    Args:
        plane: Enforces them.
        ask: Returns what plugins say of a client; None: no plugin has quotas.
        log: The server's logger.
    """

    def __init__(
        self,
        plane: ServerPlane,
        ask: Callable[[ConnectionInfo], Iterable[Quota]] | None,
        *,
        log: FilteringBoundLogger,
    ) -> None:
        self._plane = plane
        self._ask = ask
        self._log = log
        self._shared: dict[_Key, _Shared] = {}
        self._of: dict[LinkId, tuple[_Key, ...]] = {}

    def follow(self, client: Client) -> None:
        """Put a client under the quotas that it has now, before it publishes any further."""
        wanted = self._wanted(client)
        before = self._of.get(client.link, ())
        if not wanted and not before:
            return
        numbers = [self._take(key, quota) for key, quota in wanted.items()]
        if tuple(wanted) != before:
            self._plane.give_quotas([(client.link, numbers)])
            self._of[client.link] = tuple(wanted)
        self._release(before)
        if not wanted:
            del self._of[client.link]

    def leave(self, client: Client) -> None:
        """Release the quotas of a client that has gone."""
        self._release(self._of.pop(client.link, ()))

    def rows(self) -> Iterator[QuotaRow]:
        """Yield how all quotas stand."""
        for (_, _, _, who), shared in self._shared.items():
            passed, waited, refused = self._plane.quota_counters(shared.number)
            yield QuotaRow(shared.quota, who, shared.clients, passed, waited, refused)

    def _wanted(self, client: Client) -> dict[_Key, Quota]:
        quotas = list(client.accepted.quotas) if client.accepted else []
        if self._ask is not None:
            quotas += self._ask(client.seen().connection)
        if len(quotas) > QUOTAS_MAX:
            text = "Client has more quotas than there may be"
            self._log.error(text, **client.prefix(), count=len(quotas), most=QUOTAS_MAX)
        return {_key_of(client, quota): quota for quota in quotas[:QUOTAS_MAX]}

    def _take(self, key: _Key, quota: Quota) -> int:
        shared = self._shared.get(key)
        if shared is None:
            number = self._plane.add_quota(
                subject=quota.subject.encode(), refuses=quota.over == "refuse", **_rates_of(quota)
            )
            shared = self._shared[key] = _Shared(number, quota)
        elif shared.quota != quota:
            refuses = quota.over == "refuse"
            self._plane.change_quota(shared.number, refuses=refuses, **_rates_of(quota))
            shared.quota = quota
        shared.clients += 1
        return shared.number

    def _release(self, keys: Iterable[_Key]) -> None:
        for key in keys:
            shared = self._shared[key]
            shared.clients -= 1
            if not shared.clients:
                del self._shared[key]
                self._plane.drop_quota(shared.number)


def _key_of(client: Client, quota: Quota) -> _Key:
    account, user = client.account, client.identity.user if client.identity else ""
    who = {
        "connection": str(client.cid),
        "user": f"{account}/{user}",
        "account": account,
        "address": client.host,
    }
    return quota.name, quota.subject, quota.per, who[quota.per]


def _rates_of(quota: Quota) -> Mapping[str, float]:
    return {
        "messages_per_s": quota.messages,
        "bytes_per_s": quota.bytes,
        "burst_messages": quota.burst_messages or quota.messages,
        "burst_bytes": quota.burst_bytes or quota.bytes,
    }
