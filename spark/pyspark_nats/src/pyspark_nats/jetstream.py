"""What is asked of the JetStream API: streams, consumers, single messages."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark_nats.errors import ApiError, LoginError
from pyspark_nats.times import text_of, unix_ns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark_nats.connection import Connection

NOT_FOUND = 404
STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
NOT_IN_CLUSTERS = 10036
"""Some servers make no consumers in memory of streams that have replicas."""
MESSAGE_NOT_FOUND = 10037
INACTIVE_THRESHOLD_S = 30
"""After this time without a reader the server drops a consumer that nobody deleted."""
PROBE_THRESHOLD_S = 5
NOTHING = {"seq": 2, "up_to_seq": 1}
"""An export of no messages: asked for to see whether there are exports."""


@dataclass(frozen=True, slots=True)
class StreamState:
    """A stream as its leader sees it."""

    name: str
    id: str
    """When it was created: a stream of the same name that is made anew has another."""
    first_seq: int
    """Of the first message; `last_seq` + 1 when there is none."""
    last_seq: int
    messages: int
    size_bytes: int
    retention: str
    """`limits`, `interest` or `workqueue`"""
    allow_direct: bool
    duplicate_window_s: float
    servers: tuple[str, ...] = ()
    """Names of those that have all of it: its leader first, and replicas that keep up with it."""

    @property
    def is_cut_by_limits(self) -> bool:
        """Whether its first messages go by limits or a purge; otherwise others acknowledge them."""
        return self.retention == "limits"

    @property
    def end(self) -> int:
        """The sequence that the next message will have."""
        return self.last_seq + 1


class JetStream:
    """The API of one domain over one connection.

    Args:
        connection: Blocking; used by one thread.
        domain: Empty: the server's own.
    """

    def __init__(self, connection: Connection, domain: str = "") -> None:
        self.connection = connection
        self._prefix = f"$JS.{domain}.API" if domain else "$JS.API"

    def stream(self, name: str) -> StreamState:
        """Return the state of a stream.

        Raises:
            ApiError: There is none; its `err_code` is `STREAM_NOT_FOUND`.
        """
        document = self.connection.request(f"{self._prefix}.STREAM.INFO.{name}")
        config, state = document["config"], document["state"]
        last_seq = state["last_seq"]
        first_seq = state["first_seq"] if state["messages"] else last_seq + 1
        return StreamState(
            name,
            document["created"],
            max(first_seq, 1),
            last_seq,
            state["messages"],
            state["bytes"],
            config.get("retention", "limits"),
            config.get("allow_direct", False),
            config.get("duplicate_window", 0) / 1e9,
            _servers_of(document.get("cluster") or {}),
        )

    def stream_names(self, subject: str = "") -> list[str]:
        """Return the names of all streams, or of those that store `subject`; sorted."""
        names: list[str] = []
        while True:
            body: dict[str, Any] = {"offset": len(names)}
            if subject:
                body["subject"] = subject
            document = self.connection.request(f"{self._prefix}.STREAM.NAMES", body)
            page = document.get("streams") or []
            names += page
            if not page or len(names) >= document.get("total", 0):
                return sorted(set(names))

    def pages(self, request: str, key: str) -> list[dict[str, Any]]:
        """Return all that a request lists, page by page.

        Args:
            request: Such as `STREAM.LIST`.
            key: Of the array in an answer.
        """
        found: list[dict[str, Any]] = []
        while True:
            document = self.connection.request(f"{self._prefix}.{request}", {"offset": len(found)})
            page = document.get(key) or []
            found += page
            if not page or len(found) >= document.get("total", 0):
                return found

    def create_stream(self, config: dict[str, Any]) -> None:
        """Create a stream, or leave one of the same configuration as it is."""
        self.connection.request(f"{self._prefix}.STREAM.CREATE.{config['name']}", config)

    def create_consumer(
        self,
        stream: str,
        deliver: dict[str, Any],
        subjects: Sequence[str],
        *,
        threshold_s: int = INACTIVE_THRESHOLD_S,
        headers_only: bool = False,
    ) -> dict[str, Any]:
        """Create a pull consumer that acknowledges nothing; return what the server says of it.

        Args:
            stream: Its stream.
            deliver: Where it begins: `deliver_policy` and what belongs to that.
            subjects: Wildcard filters; none: all messages.
            threshold_s: Seconds without a request after which the server drops it.
            headers_only: Leave payloads on the server.
        """
        name = f"spark-{uuid.uuid4().hex[:16]}"
        config = {
            "name": name,
            "ack_policy": "none",
            "replay_policy": "instant",
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": threshold_s * 1_000_000_000,
            **deliver,
        }
        if headers_only:
            config["headers_only"] = True
        if len(subjects) == 1:
            config["filter_subject"] = subjects[0]
        elif subjects:
            config["filter_subjects"] = list(subjects)
        body = {"stream_name": stream, "config": config, "action": "create"}
        return self.connection.request(f"{self._prefix}.CONSUMER.CREATE.{stream}.{name}", body)

    def delete_consumer(self, stream: str, name: str) -> None:
        """Delete a consumer; one that is gone is no error."""
        try:
            self.connection.request(f"{self._prefix}.CONSUMER.DELETE.{stream}.{name}")
        except ApiError as error:
            if error.err_code != CONSUMER_NOT_FOUND:
                raise

    def has_exports(self, stream: str) -> bool:
        """Return whether the server of a stream has exports, and this user may ask for them."""
        export = f"{self._prefix}.STREAM.EXPORT.{stream}", json.dumps(NOTHING).encode()
        try:
            return self.connection.is_answered_before(
                export, (f"{self._prefix}.STREAM.INFO.{stream}", b"")
            )
        except LoginError:
            return False

    def begin_export(
        self, stream: str, request: dict[str, Any], timeout_s: float | None = None
    ) -> dict[str, Any]:
        """Ask for an export; return what the server says of it.

        Raises:
            ApiError: It is refused, or the server has no exports.
            RequestTimeoutError: No answer in `timeout_s`; None: that of all requests.
        """
        subject = f"{self._prefix}.STREAM.EXPORT.{stream}"
        return self.connection.request(subject, request, timeout_s)

    def next_subject(self, stream: str, consumer: str) -> str:
        """Return where messages of a pull consumer, or frames of an export, are asked for."""
        return f"{self._prefix}.CONSUMER.MSG.NEXT.{stream}.{consumer}"

    def direct_subject(self, stream: str) -> str:
        """Return where messages are got without a consumer."""
        return f"{self._prefix}.DIRECT.GET.{stream}"

    def pending(self, stream: str, seq: int, subjects: Sequence[str]) -> int:
        """Return how many messages with these subjects have this sequence or a higher one."""
        return self._probe(stream, start_at(seq), subjects)["num_pending"]

    def seq_at(self, stream: str, unix_ns: int) -> int:
        """Return the sequence of the first message at or after a time; the next one if none is."""
        deliver = {"deliver_policy": "by_start_time", "opt_start_time": text_of(unix_ns)}
        try:
            return self._probe(stream, deliver, ())["delivered"]["stream_seq"] + 1
        except ApiError as error:
            if error.err_code != NOT_IN_CLUSTERS:
                raise
        return self._seq_searched(stream, unix_ns)

    def _seq_searched(self, stream: str, unix_ns: int) -> int:
        """Return what `seq_at` does, where no consumer can be had; times rise with sequences."""
        state = self.stream(stream)
        low, high = state.first_seq, state.end
        while low < high:
            middle = (low + high) // 2
            message = self._next_message(stream, middle, ">")
            if message is None or unix_ns_of(message["time"]) >= unix_ns:
                high = middle
            else:
                low = message["seq"] + 1
        return low

    def _probe(
        self, stream: str, deliver: dict[str, Any], subjects: Sequence[str]
    ) -> dict[str, Any]:
        made = self.create_consumer(stream, deliver, subjects, threshold_s=PROBE_THRESHOLD_S)
        self.delete_consumer(stream, made["name"])
        return made

    def seq_of_next(self, stream: str, seq: int, subjects: Sequence[str]) -> int | None:
        """Ask the leader for the first message from `seq` on; None when there is none.

        Args:
            stream: Its stream.
            seq: The lowest sequence.
            subjects: Wildcard filters; none: any message.
        """
        found = [self._next_message(stream, seq, subject) for subject in subjects or (">",)]
        return min((int(it["seq"]) for it in found if it is not None), default=None)

    def last_message(self, stream: str, subject: str) -> dict[str, Any]:
        """Return the last message of a subject as the API has it: `seq`, `data` in base64.

        Raises:
            ApiError: There is none; code 404.
        """
        body = {"last_by_subj": subject}
        answer = self.connection.request(f"{self._prefix}.STREAM.MSG.GET.{stream}", body)
        return dict(answer["message"])

    def _next_message(self, stream: str, seq: int, subject: str) -> dict[str, Any] | None:
        """Return the first message from `seq` on as the API has it; None when there is none."""
        body = {"seq": seq, "next_by_subj": subject}
        try:
            document = self.connection.request(f"{self._prefix}.STREAM.MSG.GET.{stream}", body)
        except ApiError as error:
            if error.code == NOT_FOUND and error.err_code != STREAM_NOT_FOUND:
                return None
            raise
        return dict(document["message"])


def _servers_of(cluster: dict[str, Any]) -> tuple[str, ...]:
    replicas = [it["name"] for it in cluster.get("replicas") or () if _keeps_up(it)]
    leader = cluster.get("leader")
    return (leader, *replicas) if leader else ()


def _keeps_up(replica: dict[str, Any]) -> bool:
    return bool(replica.get("current")) and not replica.get("offline")


def start_at(seq: int) -> dict[str, Any]:
    """Return the fields of a consumer that begins with a sequence."""
    return {"deliver_policy": "by_start_sequence", "opt_start_seq": max(seq, 1)}
