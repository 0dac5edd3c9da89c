"""Settings of the block `jetstream`.

Source: nats-server `opts.go`, `parseJetStream`, `ProcessSwitches`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from framework.topology import ConfigSection, Kind, Node, Option, Reload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFAULT_MAX_CONSUMERS = 1000
DOMAIN_BYTES_MAX = 200
"""It is part of subjects, beside names of streams and consumers."""
DEFAULT_BLOCK_CACHE_BYTES = 32 << 20
MIN_LOG_BYTES = 128 << 20
"""Two files: one that is written, and one that is given up."""
DEFAULT_STORAGE_TIMEOUT_S = 10.0
DEFAULT_SCRUB_RATE = 8 << 20
DEFAULT_SCRUB_INTERVAL_S = 86400.0


FEATURE_FLAGS: Mapping[str, bool] = {
    "js_ack_fc_v2": False,
    "js_api_reply_v2": False,
    "js_raft_delete_range": True,
    "js_snapshot_sources": False,
}
"""Those of nats-server 2.15.2, as they are if nobody says anything: `feature_flags.go`."""


class ServerLimits(Struct, frozen=True, omit_defaults=True):
    """The block `limits`, as `/varz` shows it; 0: no limit.

    Source: nats-server `opts.go`, `JSLimitOpts`.
    """

    max_request_batch: int = 0
    max_ack_pending: int = 0
    max_ha_assets: int = 0
    max_duplicate_window: int = 0
    """Nanoseconds."""
    max_batch_inflight_per_stream: int = 0
    max_batch_inflight_total: int = 0
    max_batch_size: int = 0
    max_batch_timeout: int = 0
    """Nanoseconds."""
    default_max_consumers: int = 0
    """Of each stream; below 1: any number."""


class JetStreamConfig(Struct, frozen=True, kw_only=True):
    """The block `jetstream` of a server that has streams."""

    store_dir: str = ""
    """Empty: nats-server's default below the folder for temporary files."""
    max_memory: int = -1
    """Bytes of streams in memory; -1: as much as there is."""
    max_file: int = -1
    domain: str = ""
    strict: bool = True
    unique_tag: str = ""
    limits: ServerLimits = field(default_factory=ServerLimits)
    sync_interval_s: float = 0.0
    """Between syncs; 0: what is acknowledged was synced before."""
    block_cache_bytes: int = DEFAULT_BLOCK_CACHE_BYTES
    """Of messages that stay in memory although segments have them."""
    log_bytes: int = -1
    """Of the log, until files of it are given up; -1: what `settled_config` finds."""
    scrub_rate: int = DEFAULT_SCRUB_RATE
    """Bytes of segments a second that are read to see whether they are as they were written."""
    scrub_interval_s: float = DEFAULT_SCRUB_INTERVAL_S
    """Between the begins of reading all of them; 0: they are not."""
    storage_timeout_s: float = DEFAULT_STORAGE_TIMEOUT_S
    """That a storage kind may take for one segment."""
    replication: bool | None = None
    """Whether servers of a cluster share streams; None: as `shares_streams` finds."""
    key: str = ""
    """What files are encrypted with; empty: they are not."""
    prev_key: str = ""
    cipher: str = ""
    """Empty: ChaCha20-Poly1305."""
    feature_flags: Mapping[str, bool] = field(default_factory=dict)
    """Of those that nats-server has, each as it is."""

    @property
    def has_scoped_acks(self) -> bool:
        """Whether messages are acknowledged by subjects with domain and account."""
        return self.feature_flags.get("js_ack_fc_v2", False)


def jetstream_section() -> ConfigSection:
    """Return the block, which `section_as(JetStreamConfig)` returns; None where it is off."""
    return ConfigSection(
        name="jetstream",
        plugin="jetstream",
        help="Streams and consumers",
        options=_OPTIONS,
        normalize=_block_from_word,
        top=_TOP,
        settle_all=_settle_all,
        record=JetStreamConfig,
        make=_config_from_values,
    )


def _block_from_word(node: Node) -> Node:
    """Return the block that a word stands for: `jetstream: enabled`."""
    if isinstance(node.value, dict):
        values = dict(map(_sync_from_word, node.value.items()))
        has_switch = any(key.lower() in {"enabled", "enable"} for key in values)
        if not has_switch:
            values["enabled"] = _switch(node, is_on=True)
        return node.with_value(values)
    word = str(node.value).lower()
    if word in {"enabled", "enable", "true"}:
        return node.with_value({"enabled": _switch(node, is_on=True)})
    if word in {"disabled", "disable", "false"}:
        return node.with_value({"enabled": _switch(node, is_on=False)})
    raise ValueError("expected a block, `enabled` or `disabled`")


def _sync_from_word(item: tuple[str, Node]) -> tuple[str, Node]:
    """Let `always`, the default, be the interval 0."""
    name, node = item
    is_word = name.lower() in _SYNC and str(node.value).lower() == "always"
    return name, Node(0, node.place, node.key_place) if is_word else node


def _switch(node: Node, *, is_on: bool) -> Node:
    return Node(is_on, node.place, node.key_place)


def _config_from_values(value: Mapping[str, Any]) -> JetStreamConfig | None:
    if not value["enabled"]:
        return None
    return JetStreamConfig(
        store_dir=value["store_dir"],
        max_memory=value["max_memory_store"],
        max_file=value["max_file_store"],
        domain=value["domain"],
        strict=value["strict"],
        unique_tag=value["unique_tag"].strip().lower(),
        limits=_limits_from_values(value["limits"] or _LIMITS.defaults),
        sync_interval_s=value["sync_interval"],
        block_cache_bytes=value["block_cache_size"],
        log_bytes=value["log_size"],
        scrub_rate=value["scrub_rate"],
        scrub_interval_s=value["scrub_interval"],
        storage_timeout_s=value["storage_timeout"],
        replication=value["replication"],
        key=value["key"],
        prev_key=value["prev_key"],
        cipher=value["cipher"].lower(),
        feature_flags={**FEATURE_FLAGS, **value["feature_flags"]},
    )


def _limits_from_values(value: Mapping[str, Any]) -> ServerLimits:
    batch: Mapping[str, Any] = value["batch"] or _BATCH.defaults
    return ServerLimits(
        max_request_batch=value["max_request_batch"],
        max_ack_pending=value["max_ack_pending"],
        max_ha_assets=value["max_ha_assets"],
        max_duplicate_window=round(value["duplicate_window"] * _SECOND_NS),
        max_batch_inflight_per_stream=batch["max_inflight_per_stream"],
        max_batch_inflight_total=batch["max_inflight_total"],
        max_batch_size=batch["max_msgs"],
        max_batch_timeout=round(batch["timeout"] * _SECOND_NS),
        default_max_consumers=value["default_max_consumers"],
    )


def _settle_all(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Let the folder stand at the top level as well, and flags only there."""
    block, folder, flags = values["jetstream"], values["store_dir"], values["feature_flags"]
    if block and block["prev_key"] and not block["key"]:
        yield "jetstream.prev_key", "there is no `key` beside it: what is written needs one"
    if block:
        found: dict[str, bool] = {}
        block["feature_flags"] = found
        yield from _read_flags(flags, found)
    if block and block["enabled"] and block["replication"] is not False:
        yield from _check_names(values)
    if block and folder:
        if block["store_dir"]:
            yield "store_dir", "stands in the block `jetstream` too; remove one of them"
        block["store_dir"] = folder


def _check_names(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield which names are missing by which servers of a cluster that share streams are known.

    Source: nats-server `jetstream.go`, `validateJetStreamOptions`.
    """
    cluster = values.get("cluster") or {}
    if cluster.get("routes") and not values["server_name"]:
        yield "server_name", "jetstream cluster requires `server_name` to be set"
    if cluster.get("routes") and not cluster["name"]:
        yield "cluster.name", "jetstream cluster requires `cluster.name` to be set"


def _read_flags(node: Node | None, found: dict[str, bool]) -> Iterator[tuple[str, str]]:
    """Take the flags that nats-server has; yield what is wrong with them.

    Source: nats-server `opts.go`, `processConfigFileLine`; `feature_flags.go`.
    """
    if node is None:
        return
    if not isinstance(node.value, dict):
        yield "feature_flags", "expected a block"
        return
    for name, flag in node.value.items():
        if not isinstance(flag.value, bool):
            yield "feature_flags", f"{name} is true or false"
        elif name in FEATURE_FLAGS:
            found[name] = flag.value


def _check_domain(domain: object) -> str | None:
    if any(char in " \t\r\n.*>" for char in str(domain)):
        return "a domain has no blanks, dots and wildcards"
    if len(str(domain).encode()) > DOMAIN_BYTES_MAX:
        return f"a domain has at most {DOMAIN_BYTES_MAX} bytes"
    return None


def _check_cipher(cipher: object) -> str | None:
    if not cipher:
        return None
    from framework_jetstream.encryption.ciphers import CIPHERS  # noqa: PLC0415 - for who encrypts

    if str(cipher).lower() in CIPHERS:
        return None
    return "it is `chachapoly` or `aes`"


def _check_hint(hint: object) -> str | None:
    if hint in {"", "no_extend", "will_extend"}:
        return None
    return "it is `will_extend` or `no_extend`; leave it out where the domain has a name"


_SECOND_NS = 1_000_000_000
_SYNC = ("sync_interval", "sync")
_OWN_BOUNDS = "replicas and the meta group have bounds of their own"
_BATCH = Option(
    name="batch", kind=Kind.BLOCK, reload=Reload.LIVE, help="Atomic and fast batches of messages",
    options=(
        Option(name="max_inflight_per_stream", kind=Kind.INT, default=0, minimum=0, unit="batches",
               reload=Reload.LIVE, help="Open batches of a stream; 0: as nats-server"),
        Option(name="max_inflight_total", kind=Kind.INT, default=0, minimum=0, unit="batches",
               reload=Reload.LIVE, help="Open batches of all streams; 0: as nats-server"),
        Option(name="max_msgs", kind=Kind.INT, default=0, minimum=0, unit="messages",
               reload=Reload.LIVE, help="Messages of a batch; 0: as nats-server"),
        Option(name="timeout", kind=Kind.DURATION, default=0.0, minimum=0, reload=Reload.LIVE,
               help="How long a batch may stay open; 0: as nats-server"),
    ),
)  # fmt: skip
_LIMITS = Option(
    name="limits", kind=Kind.BLOCK, reload=Reload.LIVE,
    help="What each stream and consumer of the server may have at most",
    options=(
        Option(name="max_ack_pending", kind=Kind.INT, default=0, minimum=0, unit="messages",
               reload=Reload.LIVE,
               help="Messages of a consumer that wait for acknowledgement; 0: any number"),
        Option(name="max_ha_assets", kind=Kind.INT, default=0, minimum=0, reload=Reload.LIVE,
               unit="streams and consumers",
               help="Streams and consumers with replicas; 0: any number"),
        Option(name="max_request_batch", kind=Kind.INT, default=0, minimum=0, unit="messages",
               reload=Reload.LIVE, help="Messages of one request of a consumer; 0: any number"),
        Option(name="default_max_consumers", kind=Kind.INT, default=DEFAULT_MAX_CONSUMERS,
               minimum=-1, unit="consumers", reload=Reload.LIVE,
               help="Consumers of a stream that does not say how many; -1: any number"),
        Option(name="duplicate_window", kind=Kind.DURATION, default=0.0, minimum=0,
               reload=Reload.LIVE, help="Longest window in which duplicates are found; 0: any"),
        _BATCH,
    ),
)  # fmt: skip


_OPTIONS = (
    Option(name="enabled", kind=Kind.BOOL, default=False, aliases=("enable",),
           flags=("js", "jetstream"), help="Have streams; a block does unless it says otherwise"),
    Option(name="store_dir", kind=Kind.STRING, default="", aliases=("storedir", "store"),
           help="Folder of what streams keep in files"),
    Option(name="max_memory_store", kind=Kind.SIZE, default=-1,
           aliases=("max_memory", "max_mem", "max_mem_store"),
           help="Bytes of streams in memory; 75 % of what there is, if not set"),
    Option(name="max_file_store", kind=Kind.SIZE, default=-1, aliases=("max_file", "max_storage"),
           help="Bytes of streams in files; as many as there are, if not set"),
    Option(name=_SYNC[0], kind=Kind.DURATION, default=0.0, minimum=0, aliases=_SYNC[1:],
           help="`always`: what is acknowledged was synced before; else how long it may take, and"
                " a power cut may lose what came since"),
    Option(name="domain", kind=Kind.STRING, default="", check=_check_domain,
           help="Name by which others reach these streams, as `$JS.<domain>.API.>`"),
    Option(name="strict", kind=Kind.BOOL, default=True, reload=Reload.LIVE,
           help="Whether fields of requests that nobody knows are errors"),
    Option(name="block_cache_size", kind=Kind.SIZE, default=DEFAULT_BLOCK_CACHE_BYTES, minimum=0,
           help="Messages of streams in files that stay in memory although segments have them"),
    Option(name="log_size", kind=Kind.SIZE, default=-1, minimum=MIN_LOG_BYTES,
           help="How long the log gets until streams are synced elsewhere and files of it written"
                " anew: a burst of so much goes to the disk once, and is read by a start after a"
                " kill; 512 MiB if it is not set, but no more than a quarter of the disk"),
    Option(name="scrub_interval", kind=Kind.DURATION, default=DEFAULT_SCRUB_INTERVAL_S, minimum=0,
           help="How often segments of streams are read as a whole, though nobody wants that, to"
                " find damage before it is needed what it takes; 0: never"),
    Option(name="scrub_rate", kind=Kind.SIZE, default=DEFAULT_SCRUB_RATE, minimum=0,
           help="Bytes a second that are read for that at most; 0: none"),
    Option(name="storage_timeout", kind=Kind.DURATION, default=DEFAULT_STORAGE_TIMEOUT_S,
           minimum=0.1,
           help="How long a storage kind of a plugin may take for one segment, before its streams"
                " are refused"),
    Option(name="replication", kind=Kind.BOOL, default=None,
           help="Whether servers of a cluster form a meta group and share streams; if not set,"
                " those do that have routes or gateways to others, and a store that was not begun"
                " alone"),
    _LIMITS,
    Option(name="key", kind=Kind.STRING, default="", aliases=("ek", "encryption_key"), secret=True,
           help="What streams in files are encrypted with; `$NAME` takes it from the environment"),
    Option(name="prev_key", kind=Kind.STRING, default="", secret=True,
           aliases=("prev_ek", "prev_encryption_key"),
           help="The `key` before: what was written with it is read, and written again with `key`"),
    Option(name="cipher", kind=Kind.STRING, default="", check=_check_cipher,
           help="Of what is written: `chachapoly`, the default, or `aes`"),
    Option(name="tpm", kind=Kind.FREE, default=None, help="Not there yet: a TPM",
           refusal="a TPM is not there yet"),
    Option(name="unique_tag", kind=Kind.STRING, default="",
           help="Beginning of tags that replicas of a stream must not share"),
    Option(name="extension_hint", kind=Kind.STRING, default="", check=_check_hint,
           help="Whether a server without domain and streams uses those of its hub: `will_extend`"),
    *(
        Option(name=name, kind=kind, default=default, inert=_OWN_BOUNDS, help=text)
        for name, kind, default, text in (
            ("max_outstanding_catchup", Kind.SIZE, 0, "Bytes on their way to replicas"),
            ("meta_compact", Kind.INT, 0, "Entries of the meta log before it is compacted"),
            ("meta_compact_size", Kind.SIZE, 0, "Bytes of the meta log before it is compacted"),
            ("meta_compact_sync", Kind.BOOL, False, "Whether the meta log is compacted at once"),
        )
    ),
    *(
        Option(name=name, kind=kind, default=0, help=text,
               inert="what waits is bounded by bytes, for all streams together")
        for name, kind, text in (
            ("max_buffered_size", Kind.SIZE, "Bytes that wait for a stream"),
            ("max_buffered_msgs", Kind.INT, "Messages that wait for a stream"),
            ("request_queue_limit", Kind.INT, "Requests that wait"),
            ("info_queue_limit", Kind.INT, "Requests that wait and change nothing"),
        )
    ),
    Option(name="max_concurrent_io", kind=Kind.INT, default=0,
           inert="one thread writes for all streams", help="Files in use at the same time"),
)  # fmt: skip

_TOP = (
    Option(name="store_dir", kind=Kind.STRING, default="", aliases=("storedir",),
           flags=("sd", "store_dir"), help="Folder of what streams keep in files"),
    Option(name="feature_flags", kind=Kind.FREE,
           help="`js_ack_fc_v2`: messages are acknowledged by `$JS.ACK.<domain>.<account>.…`;"
                " other flags of nats-server have no effect"),
)  # fmt: skip
