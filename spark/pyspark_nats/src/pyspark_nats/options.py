"""The options of format `nats`: their names, defaults, valid values, and what they become.

Names are those of Spark's Kafka source where the meaning is the same. Case does not matter.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark_nats.connection import Target, Tls, address_from_url
from pyspark_nats.credentials import Credentials, credentials_from_text
from pyspark_nats.errors import OptionError
from pyspark_nats.option_forms import (
    boolean,
    duration_s,
    milliseconds,
    names,
    one_of,
    sequences,
    timestamps,
    whole,
)
from pyspark_nats.views import MESSAGES, SNAPSHOTS, TAP, VIEWS, view_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark_nats.connection import Address

CONNECTION = (
    "servers", "user", "password", "token", "credentials", "nkey", "tls.ca", "tls.cert",
    "tls.key", "tls.first", "domain", "connectTimeout", "requestTimeout", "reconnectTimeout",
)  # fmt: skip
READ = (
    "stream", "streams", "streamPattern", "subscribe", "subject", "startingOffsets",
    "endingOffsets", "startingTimestamp", "endingTimestamp", "startingOffsetsByTimestamp",
    "endingOffsetsByTimestamp", "failOnDataLoss", "minPartitions", "maxRecordsPerPartition",
    "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxBytesPerTrigger",
    "includeHeaders", "columns", "protocol", "filterPushdown", "batchRows", "progress", "view",
)  # fmt: skip
WRITE = (
    "stream", "subject", "delivery", "idempotence", "idempotencyKey", "ackWindow",
    "ledgerStream",
)  # fmt: skip
COLUMNS = ("stream", "subject", "sequence", "timestamp", "timestamp_ns", "data", "size", "headers")
COLUMNS_DEFAULT = ("stream", "subject", "sequence", "timestamp", "data", "size")
TAP_COLUMNS = (
    "stream", "sequence", "timestamp", "server", "account", "subject", "reply", "headers", "data",
    "size", "cid", "client", "user", "host", "request_subject", "latency_ns", "dropped",
)  # fmt: skip
TAP_COLUMNS_DEFAULT = tuple(it for it in TAP_COLUMNS if it != "headers")
VIEW_COLUMNS = {
    MESSAGES: (COLUMNS, COLUMNS_DEFAULT),
    TAP: (TAP_COLUMNS, TAP_COLUMNS_DEFAULT),
    **{view: (view_columns(view),) * 2 for view in VIEWS},
}
"""What rows are: name to all columns, and those of a read that names none."""
UNSEEN = "secret."
"""Before any option's name: Spark leaves values of such names out of what it writes down."""
STREAMS_ONE_OF = ("stream", "streams", "streamPattern", "subscribe")
PROTOCOLS = ("auto", "consumer", "direct", "export")
OF_SPARK = frozenset({"checkpointlocation", "queryname"})
"""Options of queries that Spark hands to sources, too."""
EARLIEST, LATEST = "earliest", "latest"
SUBJECT_VALID = "a subject: words of no space or control character, joined by dots"


@dataclass(frozen=True, slots=True)
class Streams:
    """Which streams are read; none of the fields is set: all of them, or none is of interest."""

    names: tuple[str, ...] = ()
    pattern: str = ""
    """A regular expression that a whole name matches."""
    subject: str = ""
    """Streams that store it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a read begins or ends: by word, by sequences, or by time."""

    word: str
    """`earliest` or `latest`, for streams that neither `sequences` nor `timestamps_ms` names."""
    sequences: Mapping[str, int | str]
    timestamp_ms: int | None
    timestamps_ms: Mapping[str, int] = field(default_factory=dict)
    """By stream, before `timestamp_ms`."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """All of a read, checked. No `repr` of it shows a secret."""

    target: Target
    domain: str
    streams: Streams
    subjects: tuple[str, ...]
    """Wildcard filters; none: all messages."""
    starting: Bounds | None
    """None: the default of a batch or a stream."""
    ending: Bounds | None
    fail_on_data_loss: bool
    partitions_min: int
    partition_rows_max: int
    trigger_offsets_max: int | None
    trigger_offsets_min: int | None
    trigger_delay_max_s: float
    trigger_bytes_max: int | None
    include_headers: bool
    columns: tuple[str, ...]
    protocol: str
    """One of `PROTOCOLS`."""
    filter_pushdown: bool
    batch_rows: int
    view: str
    """One of `VIEW_COLUMNS`."""
    progress: str
    """Key of the KV bucket under which progress is published; empty: nowhere."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """All of a write, checked. No `repr` of it shows a secret."""

    target: Target
    domain: str
    stream: str
    """That must store what is written; empty: whichever stores the subject."""
    subject: str
    """Of rows without a subject of their own."""
    delivery: str
    idempotence: str
    idempotency_key: str
    ack_window: int
    ledger_stream: str


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Return the options of a read.

    Raises:
        OptionError: One is unknown, missing, or has a value that it can't have.
    """
    given = _Given(options, (*CONNECTION, *READ), "read")
    view = one_of("view", given.text("view", MESSAGES), tuple(VIEW_COLUMNS))
    return ReadOptions(
        target=_target(given),
        domain=_domain(given),
        streams=_streams(given, view),
        subjects=_subjects(given, view),
        starting=_bounds(given, "starting"),
        ending=_bounds(given, "ending"),
        fail_on_data_loss=boolean("failOnDataLoss", given.text("failOnDataLoss", "true")),
        partitions_min=whole("minPartitions", given.text("minPartitions", "1")),
        partition_rows_max=whole(
            "maxRecordsPerPartition", given.text("maxRecordsPerPartition", "250000")
        ),
        trigger_offsets_max=given.whole_or_none("maxOffsetsPerTrigger"),
        trigger_offsets_min=given.whole_or_none("minOffsetsPerTrigger"),
        trigger_delay_max_s=duration_s("maxTriggerDelay", given.text("maxTriggerDelay", "15m")),
        trigger_bytes_max=given.whole_or_none("maxBytesPerTrigger"),
        include_headers=boolean("includeHeaders", given.text("includeHeaders", "false")),
        columns=names("columns", given.text("columns"), VIEW_COLUMNS[view][0]),
        protocol=one_of("protocol", given.text("protocol", "auto"), PROTOCOLS),
        filter_pushdown=boolean("filterPushdown", given.text("filterPushdown", "false")),
        batch_rows=whole("batchRows", given.text("batchRows", "16384")),
        view=view,
        progress=_progress(given),
    )


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """Return the options of a write.

    Raises:
        OptionError: As for `read_options`.
    """
    given = _Given(options, (*CONNECTION, *WRITE), "write")
    delivery = one_of("delivery", given.text("delivery", "jetstream"), ("jetstream", "core"))
    kinds = ("msgid", "ledger", "none")
    default = "none" if delivery == "core" else "msgid"
    idempotence = one_of("idempotence", given.text("idempotence", default), kinds)
    if delivery == "core" and idempotence != "none":
        raise OptionError("idempotence", f"{idempotence!r} with delivery=core", "none")
    subject = given.text("subject")
    if subject and not is_subject(subject, wildcards=False):
        raise OptionError("subject", f"{subject!r} is none to write to", SUBJECT_VALID)
    return WriteOptions(
        target=_target(given),
        domain=_domain(given),
        stream=_stream_name("stream", given.text("stream")) if given.text("stream") else "",
        subject=subject,
        delivery=delivery,
        idempotence=idempotence,
        idempotency_key=_key("idempotencyKey", given.text("idempotencyKey")),
        ack_window=whole("ackWindow", given.text("ackWindow", "2000")),
        ledger_stream=_stream_name("ledgerStream", given.text("ledgerStream", "SPARK_LEDGER")),
    )


def is_subject(subject: str, *, wildcards: bool) -> bool:
    """Return whether a server takes this as a subject."""
    tokens = subject.split(".")
    if any(not re.fullmatch(r"[^\s\x00-\x1f\x7f]+", token) for token in tokens):
        return False
    if wildcards:
        return ">" not in tokens[:-1]
    return not {"*", ">"} & set(tokens)


class _Given:
    """What the user set: names compared without case, unknown ones refused.

    Args:
        options: As Spark hands them over.
        known: Names that there are, as documented.
        use: `read` or `write`, for the error.
    """

    def __init__(self, options: Mapping[str, str], known: tuple[str, ...], use: str) -> None:
        documented = {name.lower(): name for name in known}
        self._values: dict[str, str] = {}
        for name, value in options.items():
            plain = name.lower().removeprefix(UNSEEN)
            if plain in OF_SPARK:
                continue
            if plain == "path":
                raise OptionError(name, "there is no path", "load() and save() without a path")
            if plain not in documented:
                near = difflib.get_close_matches(plain, documented, 3, 0.6)
                valid = ", ".join(documented[it] for it in near) or ", ".join(known)
                raise OptionError(name, f"there is none of this name for a {use}", valid)
            self._values[documented[plain]] = value

    def text(self, name: str, default: str = "") -> str:
        return self._values.get(name, default).strip()

    def whole_or_none(self, name: str) -> int | None:
        return whole(name, self.text(name)) if name in self._values else None

    def set_ones(self, names_: tuple[str, ...]) -> list[str]:
        return [name for name in names_ if self.text(name)]


def _target(given: _Given) -> Target:
    servers = given.text("servers") or os.environ.get("NATS_URL", "")
    valid = "nats://host:port or tls://host:port, several with commas between"
    if not servers:
        raise OptionError("servers", "missing, and NATS_URL is not set", valid)
    addresses: list[Address] = []
    login = Credentials()
    for number, url in enumerate(filter(None, map(str.strip, servers.split(","))), 1):
        try:
            address, found = address_from_url(url)
        except ValueError:
            # The URL may hold a password.
            raise OptionError("servers", f"address {number} is no URL of a server", valid) from None
        addresses.append(address)
        if found != Credentials():
            login = found
    if not addresses:
        raise OptionError("servers", "names no server", valid)
    return Target(
        tuple(addresses),
        _credentials(given, login),
        _tls(given),
        duration_s("connectTimeout", given.text("connectTimeout", "5s")),
        duration_s("requestTimeout", given.text("requestTimeout", "10s")),
        duration_s("reconnectTimeout", given.text("reconnectTimeout", "60s")),
    )


def _credentials(given: _Given, of_url: Credentials) -> Credentials:
    chosen = given.set_ones(("user", "token", "credentials", "nkey"))
    if len(chosen) > 1:
        raise OptionError(chosen[1], f"set besides {chosen[0]!r}", "one way to log in")
    jwt, seed = "", given.text("nkey")
    if text := given.text("credentials"):
        jwt, seed = credentials_from_text(_text_of("credentials", text))
    elif seed and not seed.startswith("SU"):
        seed = _text_of("nkey", seed).strip()
    if not chosen:
        return of_url
    return Credentials(
        user=given.text("user"),
        password=given.text("password"),
        token=given.text("token"),
        jwt=jwt,
        seed=seed,
    )


def _text_of(option: str, value: str) -> str:
    """Return what is in a file, or the value if it is the text itself; executors lack files."""
    if "\n" in value or value.startswith("-----"):
        return value
    try:
        return Path(value).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise OptionError(option, f"can't be read: {reason}", "a path, or the text of it") from None


def _tls(given: _Given) -> Tls:
    tls = Tls(
        given.text("tls.ca"),
        given.text("tls.cert"),
        given.text("tls.key"),
        boolean("tls.first", given.text("tls.first", "false")),
    )
    for option, file in (("tls.ca", tls.ca), ("tls.cert", tls.cert), ("tls.key", tls.key)):
        if file and not Path(file).is_file():
            raise OptionError(option, f"there is no file {file!r}", "path of a PEM file")
    if tls.key and not tls.cert:
        raise OptionError("tls.key", "set without 'tls.cert'", "both or none")
    return tls


def _streams(given: _Given, view: str) -> Streams:
    chosen = given.set_ones(STREAMS_ONE_OF)
    if view in SNAPSHOTS:
        if chosen and view != "consumers":
            raise OptionError(chosen[0], f"set with view={view}", "none: it is of all there is")
        if not chosen:
            return Streams()
    if len(chosen) != 1:
        problem = f"{' and '.join(chosen)} are set" if chosen else "no stream is named"
        raise OptionError(
            chosen[1] if chosen else "stream", problem, "one of " + ", ".join(STREAMS_ONE_OF)
        )
    value = given.text(chosen[0])
    match chosen[0]:
        case "stream":
            return Streams(names=(_stream_name("stream", value),))
        case "streams":
            each = [_stream_name("streams", it.strip()) for it in value.split(",")]
            return Streams(names=tuple(dict.fromkeys(each)))
        case "streamPattern":
            try:
                re.compile(value)
            except re.error as error:
                raise OptionError("streamPattern", str(error), "a regular expression") from None
            return Streams(pattern=value)
    if not is_subject(value, wildcards=True):
        raise OptionError("subscribe", f"{value!r} is no subject", SUBJECT_VALID)
    return Streams(subject=value)


def _stream_name(option: str, name: str) -> str:
    if not re.fullmatch(r"[^\s.*>/\\\x00-\x1f\x7f]+", name):
        raise OptionError(option, f"{name!r}", "a name without space, dot, *, >, / or \\")
    return name


def _subjects(given: _Given, view: str) -> tuple[str, ...]:
    if view == TAP and given.text("subject"):
        raise OptionError("subject", "set with view=tap", "a filter on the column `subject`")
    subjects = [it.strip() for it in given.text("subject").split(",") if it.strip()]
    if not subjects and given.text("subscribe"):
        subjects = [given.text("subscribe")]
    for subject in subjects:
        if not is_subject(subject, wildcards=True):
            raise OptionError(
                "subject", f"{subject!r} is none", SUBJECT_VALID + ", * and > allowed"
            )
    return () if ">" in subjects else tuple(dict.fromkeys(subjects))


def _bounds(given: _Given, side: str) -> Bounds | None:
    offsets, stamp, stamps = f"{side}Offsets", f"{side}Timestamp", f"{side}OffsetsByTimestamp"
    chosen = given.set_ones((offsets, stamp, stamps))
    if not chosen:
        return None
    if len(chosen) > 1:
        raise OptionError(chosen[1], f"set besides {chosen[0]!r}", "one of them")
    word = EARLIEST if side == "starting" else LATEST
    if chosen == [stamp]:
        return Bounds(word, {}, milliseconds(stamp, given.text(stamp)))
    if chosen == [stamps]:
        return Bounds(word, {}, None, timestamps(stamps, given.text(stamps)))
    value = given.text(offsets)
    if value in {EARLIEST, LATEST}:
        if side == "ending" and value == EARLIEST:
            raise OptionError(offsets, repr(value), 'latest, or {"STREAM": sequence}')
        return Bounds(value, {}, None)
    return Bounds(word, sequences(offsets, value), None)


def _domain(given: _Given) -> str:
    domain = given.text("domain")
    if domain and ("." in domain or not is_subject(domain, wildcards=False)):
        raise OptionError("domain", f"{domain!r}", "a name without space, dot, * or >")
    return domain


def _key(option: str, key: str) -> str:
    if key and not re.fullmatch(r"[-_a-zA-Z0-9]+", key):
        raise OptionError(option, f"{key!r}", "letters, digits, - and _")
    return key


def _progress(given: _Given) -> str:
    key = given.text("progress")
    if key and not re.fullmatch(r"[-/_=.a-zA-Z0-9]+", key):
        raise OptionError("progress", f"{key!r}", "a key of a KV bucket: letters, digits, -/_=.")
    return key
