"""Options of `accounts`: users, exports, imports, mappings, limits.

Source: nats-server `opts.go`, `parseAccounts` and what it calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from framework.topology import Kind, Option, Reload
from framework.wire.nkey import NkeyKind, is_public_key
from framework.wire.subject import is_literal, is_valid_subject
from framework_auth.forms import (
    list_from_mappings,
    lower_case,
    named_from_list,
    percent,
    sampling,
    text_as,
)
from framework_auth.jetstream_options import JETSTREAM
from framework_auth.permission_options import permissions_option
from framework_auth.user_options import USERS

if TYPE_CHECKING:
    from collections.abc import Iterator


def _check_subject(subject: object) -> str | None:
    return None if is_valid_subject(str(subject)) else f'"{subject}" is not a valid subject'


def _check_literal(subject: object) -> str | None:
    if is_literal(str(subject)):
        return None
    return f'"{subject}" is not a valid subject to publish to; it must have no wildcards'


def _check_prefix(prefix: object) -> str | None:
    return _check_literal(str(prefix).removesuffix("."))


def _check_nkey(key: object) -> str | None:
    if is_public_key(str(key), NkeyKind.ACCOUNT):
        return None
    return "not a valid public nkey for an account; it begins with A"


def _settle_export(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    stream, service = values["stream"], values["service"]
    if stream is not None and service is not None:
        yield "service", "detected a service but already saw a stream; make it two exports"
    elif stream is None and service is None:
        yield "accounts", "exports neither a stream nor a service; add `stream` or `service`"
    elif service is None:
        for name in ("response", "response_threshold", "latency", "allow_trace"):
            if values[name]:
                yield name, "is of services, and this is a stream; remove it"
    elif values["latency"] and values["response"] in {"stream", "chunk", "chunked"}:
        yield "latency", "bad service response type: only single responses can be sampled"
    if (at := values["account_token_position"]) and not _has_wildcard_at(stream or service, at):
        yield "account_token_position", f"token {at} of the subject must be `*`"


def _has_wildcard_at(subject: object, position: object) -> bool:
    tokens = str(subject).split(".")
    assert isinstance(position, int)
    return position <= len(tokens) and tokens[position - 1] == "*"


def _settle_latency(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["subject"] is None:
        yield "sampling", "latency subject required, but missing; add `subject`"


def _settle_import(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    stream, service = values["stream"], values["service"]
    if stream is not None and service is not None:
        yield "service", "detected a service but already saw a stream; make it two imports"
    elif stream is None and service is None:
        yield "to", "imports neither a stream nor a service; add `stream` or `service`"
    elif stream is not None:
        if values["prefix"] is not None and values["to"] is not None:
            yield "to", "stream import can not have a 'prefix' and a 'to' property; remove one"
        if values["share"]:
            yield "share", "is of services, and this is a stream; remove it"
    else:
        for name in ("prefix", "allow_trace"):
            if values[name]:
                yield name, "is of streams, and this is a service; remove it"


def _settle_source(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if not values["account"] or not values["subject"]:
        yield "account subject", "expect an account name and a subject; add both"


def _settle_destination(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["destination"] is None:
        yield "weight", "names no subject; add `destination`"
    elif values["weight"] is None:
        yield "destination", "missing weight for mapping destination; add `weight`"


def _settle_trace(values: dict[str, object]) -> Iterator[tuple[str, str]]:
    if values["dest"] is None:
        yield "sampling", "names no subject, so nothing would be traced; add `dest`"


_LATENCY = Option(
    name="latency", kind=Kind.BLOCK, normalize=text_as("subject"), settle=_settle_latency,
    reload=Reload.LIVE,
    help="Where samples of response times are published: a subject, or how often too",
    options=(
        Option(name="sampling", kind=Kind.INT, default=100, minimum=0, maximum=100,
               normalize=sampling, unit="percent", reload=Reload.LIVE,
               help="Share of requests; `headers`: those that ask for it"),
        Option(name="subject", kind=Kind.STRING, check=_check_literal, reload=Reload.LIVE,
               help="Where samples are published"),
    ),
)  # fmt: skip

_EXPORTS = Option(
    name="exports", kind=Kind.BLOCKS, default=(), settle=_settle_export, reload=Reload.LIVE,
    help="Streams and services that other accounts may import",
    options=(
        Option(name="stream", kind=Kind.STRING, check=_check_subject, reload=Reload.LIVE,
               help="Subject whose messages others may get"),
        Option(name="service", kind=Kind.STRING, check=_check_subject, reload=Reload.LIVE,
               help="Subject to which others may send requests"),
        Option(name="accounts", kind=Kind.STRINGS, default=(), reload=Reload.LIVE,
               help="Who may import it; everybody, if unset"),
        Option(name="response", kind=Kind.STRING, aliases=("response_type",),
               choices=("single", "singleton", "stream", "chunk", "chunked"), reload=Reload.LIVE,
               normalize=lower_case, help="How many answers a request gets"),
        Option(name="response_threshold", kind=Kind.DURATION, default=0.0, reload=Reload.LIVE,
               aliases=("threshold", "response_max_time", "response_time"),
               help="How long an answer may take; 2 minutes, if unset"),
        _LATENCY,
        Option(name="account_token_position", kind=Kind.INT, default=0, minimum=0,
               reload=Reload.LIVE,
               help="Which token of the subject, a `*`, must be the name of who imports it"),
        Option(name="allow_trace", kind=Kind.BOOL, default=False, reload=Reload.LIVE,
               help="Whether traces of messages go on into this account"),
    ),
)  # fmt: skip


def _source(name: str, help_: str) -> Option:
    return Option(
        name=name, kind=Kind.BLOCK, settle=_settle_source, help=help_, reload=Reload.LIVE,
        options=(
            Option(name="account", kind=Kind.STRING, reload=Reload.LIVE,
                   help="Name of the account that exports it"),
            Option(name="subject", kind=Kind.STRING, check=_check_subject, reload=Reload.LIVE,
                   help="Subject there"),
        ),
    )  # fmt: skip


_IMPORTS = Option(
    name="imports", kind=Kind.BLOCKS, default=(), settle=_settle_import, reload=Reload.LIVE,
    help="Streams and services of other accounts",
    options=(
        _source("stream", "Messages that are published there come here"),
        _source("service", "Requests that are sent here go there"),
        Option(name="prefix", kind=Kind.STRING, check=_check_prefix, reload=Reload.LIVE,
               help="What stands here before the subject of a stream"),
        Option(name="to", kind=Kind.STRING, reload=Reload.LIVE,
               help="Subject here; that of the exporter, if unset"),
        Option(name="share", kind=Kind.BOOL, default=False, reload=Reload.LIVE,
               help="Whether the service is told who asks"),
        Option(name="allow_trace", kind=Kind.BOOL, default=False, reload=Reload.LIVE,
               help="Whether traces of messages go on from the stream's account"),
    ),
)  # fmt: skip

_DESTINATIONS = Option(
    name="destinations", kind=Kind.BLOCKS, default=(), settle=_settle_destination,
    reload=Reload.LIVE, help="Where its messages go, each with a share",
    options=(
        Option(name="destination", kind=Kind.STRING, aliases=("dest",), reload=Reload.LIVE,
               help="Subject; `$1` or `{{wildcard(1)}}` stands for the first wildcard"),
        Option(name="weight", kind=Kind.INT, minimum=0, maximum=100, normalize=percent,
               unit="percent", reload=Reload.LIVE, help="Share of the messages"),
        Option(name="cluster", kind=Kind.STRING, default="", reload=Reload.LIVE,
               help="Only for messages that come in at this cluster"),
    ),
)  # fmt: skip

MAPPINGS = Option(
    name="mappings", kind=Kind.BLOCKS, aliases=("maps",), default=(), reload=Reload.LIVE,
    normalize=list_from_mappings,
    help="Subjects, and where their messages go instead: a subject, a block, or a list of blocks",
    options=(
        Option(name="source", kind=Kind.STRING, check=_check_subject, reload=Reload.LIVE,
               help="The subject, which stands as the key"),
        _DESTINATIONS,
    ),
)  # fmt: skip

_LIMITS = Option(
    name="limits", kind=Kind.BLOCK, reload=Reload.LIVE, help="How much the account may use",
    options=(
        Option(name="max_connections", kind=Kind.INT, aliases=("max_conn",), default=-1,
               minimum=-1, unit="connections", reload=Reload.LIVE,
               help="Clients of the account; -1: any number"),
        Option(name="max_subscriptions", kind=Kind.INT, aliases=("max_subs",), default=-1,
               minimum=-1, unit="subscriptions", reload=Reload.LIVE,
               help="Subscriptions of each client; -1: any number"),
        Option(name="max_payload", kind=Kind.SIZE, aliases=("max_pay",), default=-1, minimum=-1,
               reload=Reload.LIVE, help="Of each message; -1: that of the server"),
        Option(name="max_leafnodes", kind=Kind.INT, aliases=("max_leafs",), default=-1,
               minimum=-1, unit="connections", reload=Reload.LIVE,
               help="Leafnodes of the account; -1: any number"),
    ),
)  # fmt: skip

_TRACE = Option(
    name="msg_trace", kind=Kind.BLOCK, aliases=("trace_dest",), normalize=text_as("dest"),
    settle=_settle_trace, reload=Reload.LIVE,
    help="Where traces of messages with the header `traceparent` go: a subject, or how many too",
    options=(
        Option(name="dest", kind=Kind.STRING, check=_check_literal, reload=Reload.LIVE,
               help="Where traces are published"),
        Option(name="sampling", kind=Kind.INT, default=100, minimum=1, maximum=100,
               normalize=percent, unit="percent", reload=Reload.LIVE,
               help="Share of the messages that are traced"),
    ),
)  # fmt: skip

ACCOUNTS = Option(
    name="accounts", kind=Kind.NAMED, normalize=named_from_list, reload=Reload.LIVE,
    help="Walls between clients: blocks named after accounts, or a list of their names",
    options=(
        USERS,
        permissions_option("default_permissions", (),
                           "Of users of the account that have none of their own"),
        _EXPORTS,
        _IMPORTS,
        MAPPINGS,
        _LIMITS,
        _TRACE,
        Option(name="nkey", kind=Kind.STRING, check=_check_nkey, reload=Reload.LIVE,
               help="Public key of the account; nothing depends on it"),
        JETSTREAM,
    ),
)  # fmt: skip

GLOBAL_MAPPINGS = replace(MAPPINGS, help=f"{MAPPINGS.help}; of the account `$G`")
