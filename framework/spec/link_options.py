"""Options of monitoring endpoints about links to other clusters and accounts.

They are the same whether a plugin answers, or the core where that plugin is not.

Source: nats-server `monitor.go`, `GatewayzOptions`, `LeafzOptions`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from framework.spec.query import read_bool_or_details, read_details
from framework.spec.request_options import InQuery


class GatewayzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/gatewayz`."""

    name: Annotated[str, InQuery("gw_name")] = ""
    accounts: Annotated[bool, InQuery("accs")] = False
    account_name: Annotated[str, InQuery("acc_name")] = ""
    subscriptions: Annotated[bool, InQuery("subs", read_bool_or_details)] = False
    subscriptions_detail: Annotated[bool, InQuery("subs", read_details)] = False


class LeafzOptions(Struct, frozen=True, kw_only=True):
    """Options of `/leafz`."""

    subscriptions: Annotated[bool, InQuery("subs")] = False
    account: Annotated[str, InQuery("acc")] = ""
