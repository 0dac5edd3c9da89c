"""The tables of one account: subject mappings, stream imports, service imports.

A plane takes the tables of an account as one version, between two turns: no message sees half
of them.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct


class ResponseKind(IntEnum):
    """What comes back from a service. Source: nats-server `accounts.go`, `ServiceRespType`."""

    SINGLETON = 0
    """One answer."""
    STREAM = 1
    """Several, until the requestor goes or the threshold passes without one."""
    CHUNKED = 2
    """Several, the last of them empty."""


class MappedDestination(Struct, frozen=True, kw_only=True):
    """Where a share of the messages of a mapped subject goes."""

    subject: str
    """A transform of the source: `b.{{wildcard(1)}}`."""
    weight: int = 100
    """Percent."""
    cluster: str = ""
    """Only servers of this cluster send there; empty: all."""


class SubjectMapping(Struct, frozen=True, kw_only=True):
    """Messages of clients for `source` go to other subjects; what the weights leave stays."""

    source: str
    destinations: tuple[MappedDestination, ...]


class StreamImportRow(Struct, frozen=True, kw_only=True):
    """Who subscribes here to `to` gets what another account publishes."""

    account: int
    """Index of the exporter."""
    subject: str
    """As the exporter publishes it."""
    to: str
    """As clients here see it: with `$1` or plain wildcards for those of `subject`, in order."""
    allow_trace: bool = False


class ServiceImportRow(Struct, frozen=True, kw_only=True):
    """Who publishes here to `to` sends a request to another account."""

    account: int
    """Index of the exporter."""
    subject: str
    """As the exporter serves it."""
    to: str
    """As clients here send it: with `$1` or plain wildcards for those of `subject`, in order."""
    response: ResponseKind = ResponseKind.SINGLETON
    threshold_s: float = 120.0
    """How long an answer may take."""
    share: bool = False
    """The service is told who asks, by the header `Nats-Request-Info`."""
    names_server: bool = False
    """The service is told by which server and cluster, too: the exporter is the system account."""
    latency: int = 0
    """Reports `LatencySampled` with this token; 0: nothing is measured."""
    latency_percent: int = 100
    """Of the requests; 0: those that ask for it by a header."""
    allow_trace: bool = False


class AccountTables(Struct, frozen=True, kw_only=True):
    """All that one account does to messages."""

    mappings: tuple[SubjectMapping, ...] = ()
    """In order: the first whose source holds the subject decides."""
    stream_imports: tuple[StreamImportRow, ...] = ()
    service_imports: tuple[ServiceImportRow, ...] = ()
    trace_destination: str = ""
    """Where traces of messages with a sampled `traceparent` go; empty: they are not traced."""
    trace_percent: int = 100
    """Of those messages; 1 to 100."""
