"""Options of each monitoring document of the core, and what they are called in a URL.

Source: nats-server `monitor.go`, `ConnzOptions` and its neighbours with their `json` tags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Struct, field

from framework.errors import BadQuery
from framework.monitor.limits import QUOTAS_LISTED
from framework.spec.query import read_bool_or_details, read_details
from framework.spec.request_options import InQuery, Unsigned

if TYPE_CHECKING:
    from collections.abc import Mapping

OPEN: Final = 0
CLOSED: Final = 1
ALL: Final = 2
_STATES: Final = {"open": OPEN, "closed": CLOSED, "any": ALL, "all": ALL}
_SHOWN_CHARS_MAX: Final = 100


def _read_state(query: Mapping[str, str], name: str) -> int:
    try:
        return _STATES[query[name].lower()]
    except KeyError:
        raise BadQuery(f"Error decoding state for {query[name][:_SHOWN_CHARS_MAX]}") from None


class ConnzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/connz`."""

    sort: str = ""
    auth: bool = False
    subscriptions: Annotated[bool, InQuery("subs", read_bool_or_details)] = False
    subscriptions_detail: Annotated[bool, InQuery("subs", read_details)] = False
    offset: int = 0
    limit: int = 0
    cid: Unsigned = 0
    mqtt_client: str = ""
    state: Annotated[int, InQuery("state", _read_state)] = OPEN
    user: str = ""
    account: str = field(default="", name="acc")
    filter_subject: str = ""


class SubszOptions(Struct, frozen=True, kw_only=True):
    """Options of `/subsz`."""

    offset: int = 0
    limit: int = 0
    subscriptions: Annotated[bool, InQuery("subs")] = False
    account: Annotated[str, InQuery("acc")] = ""
    test: str = ""


class AccountzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/accountz`."""

    account: Annotated[str, InQuery("acc")] = ""


class AccountStatzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/accstatz`, which shows all accounts by HTTP."""

    accounts: Annotated[tuple[str, ...], InQuery("")] = ()
    include_unused: Annotated[bool, InQuery("unused")] = False


class JszOptions(Struct, frozen=True, kw_only=True):
    """Options of `/jsz`."""

    account: Annotated[str, InQuery("acc")] = ""
    accounts: bool = False
    streams: bool = False
    consumer: Annotated[bool, InQuery("consumers")] = False
    direct_consumer: Annotated[bool, InQuery("direct-consumers")] = False
    config: bool = False
    leader_only: Annotated[bool, InQuery("leader-only")] = False
    offset: int = 0
    limit: int = 0
    raft: bool = False
    stream_leader_only: Annotated[bool, InQuery("stream-leader-only")] = False


class HealthzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/healthz`."""

    js_enabled: bool = field(default=False, name="js-enabled")
    js_enabled_only: bool = field(default=False, name="js-enabled-only")
    js_server_only: bool = field(default=False, name="js-server-only")
    js_meta_only: bool = field(default=False, name="js-meta-only")
    account: str = ""
    stream: str = ""
    consumer: str = ""
    details: bool = False


class IpqueueszOptions(Struct, frozen=True, kw_only=True):
    """Options of `/ipqueuesz`."""

    all: bool = False
    filter: Annotated[str, InQuery("queues")] = ""


class QuotazOptions(Struct, frozen=True):
    """Options of `/quotaz`."""

    offset: int = 0
    limit: int = QUOTAS_LISTED


class RaftzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/raftz`."""

    account: Annotated[str, InQuery("acc")] = ""
    group: str = ""


class ProfilezOptions(Struct, frozen=True, kw_only=True):
    """Options of the request `PROFILEZ`, which no path has."""

    name: str = ""
    debug: int = 0
    duration: int = 0
