"""JSON options of each `$SYS` request, and their names in a monitoring URL.

Source: nats-server `monitor.go`, the `json` tags of `ConnzOptions` and its neighbours.
"""

from __future__ import annotations

from typing import Final

from framework.spec import OptionKind, RequestOption

_FLAG, _INT, _TEXT = OptionKind.FLAG, OptionKind.INT, OptionKind.TEXT
_PAGE = (RequestOption("offset", _INT), RequestOption("limit", _INT))
_SUBSCRIPTIONS = RequestOption("subscriptions", _FLAG, "subs")
_DETAILS = RequestOption("subscriptions_detail", _FLAG, "subs", ("detail",))

CONNZ_OPTIONS: Final = (
    RequestOption("sort", _TEXT),
    RequestOption("auth", _FLAG),
    _SUBSCRIPTIONS,
    _DETAILS,
    *_PAGE,
    RequestOption("cid", OptionKind.UNSIGNED),
    RequestOption("mqtt_client", _TEXT),
    RequestOption("state", _INT, texts=("open", "closed", "all")),
    RequestOption("user", _TEXT),
    RequestOption("acc", _TEXT),
    RequestOption("filter_subject", _TEXT),
)

SUBSZ_OPTIONS: Final = (
    *_PAGE,
    _SUBSCRIPTIONS,
    RequestOption("account", _TEXT, "acc"),
    RequestOption("test", _TEXT),
)

GATEWAYZ_OPTIONS: Final = (
    RequestOption("name", _TEXT, "gw_name"),
    RequestOption("accounts", _FLAG, "accs"),
    RequestOption("account_name", _TEXT, "acc_name"),
    _SUBSCRIPTIONS,
    _DETAILS,
)

LEAFZ_OPTIONS: Final = (_SUBSCRIPTIONS, RequestOption("account", _TEXT, "acc"))

ACCOUNTZ_OPTIONS: Final = (RequestOption("account", _TEXT, "acc"),)

ACCSTATZ_OPTIONS: Final = (
    RequestOption("accounts", OptionKind.TEXTS),
    RequestOption("include_unused", _FLAG, "unused"),
)

JSZ_OPTIONS: Final = (
    RequestOption("account", _TEXT, "acc"),
    RequestOption("accounts", _FLAG),
    RequestOption("streams", _FLAG),
    RequestOption("consumer", _FLAG, "consumers"),
    RequestOption("direct_consumer", _FLAG, "direct-consumers"),
    RequestOption("config", _FLAG),
    RequestOption("leader_only", _FLAG, "leader-only"),
    *_PAGE,
    RequestOption("raft", _FLAG),
    RequestOption("stream_leader_only", _FLAG, "stream-leader-only"),
)

HEALTHZ_OPTIONS: Final = (
    RequestOption("js-enabled", _FLAG),
    RequestOption("js-enabled-only", _FLAG),
    RequestOption("js-server-only", _FLAG),
    RequestOption("js-meta-only", _FLAG),
    RequestOption("account", _TEXT),
    RequestOption("stream", _TEXT),
    RequestOption("consumer", _TEXT),
    RequestOption("details", _FLAG),
)

IPQUEUESZ_OPTIONS: Final = (
    RequestOption("all", _FLAG),
    RequestOption("filter", _TEXT, "queues"),
)

RAFTZ_OPTIONS: Final = (RequestOption("account", _TEXT, "acc"), RequestOption("group", _TEXT))

PROFILEZ_OPTIONS: Final = (
    RequestOption("name", _TEXT),
    RequestOption("debug", _INT),
    RequestOption("duration", _INT),
)
