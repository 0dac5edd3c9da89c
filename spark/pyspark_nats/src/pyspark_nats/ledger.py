"""A write that no window of duplicates limits: what was begun and done stands in a stream.

One subject a query and partition: `<ledger stream>.<key>.<partition>`, of which the last message
counts: `{"batch": 7, "state": "begun" or "done", "seq": 1001}`. `seq` is where the written stream
ended when the batch was begun. A batch that is done is not written again. Of one that was begun,
the messages from `seq` on that bear its ids are there already, and the others are written.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from pyspark_nats.errors import ApiError, NatsSourceError
from pyspark_nats.jetstream import NOT_FOUND, STREAM_NOT_FOUND
from pyspark_nats.messages import Message, wire_of
from pyspark_nats.pull import PullReader, Range, refuse_loss

if TYPE_CHECKING:
    from pyspark_nats.connection import Target
    from pyspark_nats.jetstream import JetStream

WRONG_LAST_SEQUENCE = 10071


class Entry(NamedTuple):
    """The last word about one partition of a query."""

    batch: int
    is_done: bool
    seq: int
    """Of the written stream, when the batch was begun."""
    ledger_seq: int
    """Of this entry in the ledger; 0 when there is none."""


NO_ENTRY = Entry(-1, is_done=True, seq=0, ledger_seq=0)


class Ledger:
    """The entries of one partition of one query.

    Args:
        api: Over a connection of its own.
        stream: Of the ledger; made if it is not there.
        key: Of the query, one token of a subject.
        partition: From 0.
    """

    def __init__(self, api: JetStream, stream: str, key: str, partition: int) -> None:
        self._api = api
        self._stream = stream
        self._subject = f"{stream}.{key}.{partition}"
        api.create_stream({
            "name": stream,
            "subjects": [f"{stream}.>"],
            "max_msgs_per_subject": 1,
            "allow_direct": True,
        })

    def last(self) -> Entry:
        """Return the last entry."""
        try:
            found = self._api.last_message(self._stream, self._subject)
        except ApiError as error:
            if error.code != NOT_FOUND or error.err_code == STREAM_NOT_FOUND:
                raise
            return NO_ENTRY
        value = json.loads(base64.b64decode(found["data"]))
        return Entry(value["batch"], value["state"] == "done", value["seq"], found["seq"])

    def put(self, entry: Entry) -> Entry:
        """Write the entry that follows `entry.ledger_seq`; return it with its own sequence.

        Raises:
            NatsSourceError: Another attempt at this partition has written meanwhile.
        """
        state = "done" if entry.is_done else "begun"
        value = {"batch": entry.batch, "state": state, "seq": entry.seq}
        head = f"Nats-Expected-Last-Subject-Sequence: {entry.ledger_seq}\r\n".encode()
        message = Message(self._subject.encode(), json.dumps(value).encode(), head)
        try:
            ack = self._api.connection.ask(
                self._subject, lambda reply: wire_of(message, reply.encode() + b" ")
            )
        except ApiError as error:
            if error.err_code != WRONG_LAST_SEQUENCE:
                raise
            raise NatsSourceError(
                f"ledger {self._subject!r}: another attempt at this partition is being written; "
                "two queries must not share a key (option 'idempotencyKey') or a checkpoint"
            ) from error
        return entry._replace(ledger_seq=int(ack["seq"]))


def rows_written(target: Target, domain: str, written: Range, id_prefix: str) -> frozenset[int]:
    """Return the numbers of rows whose messages are in a range of a stream.

    Args:
        target: Servers.
        domain: Of JetStream.
        written: Where messages may be.
        id_prefix: What their ids begin with; a row's number follows.
    """
    pattern = re.compile(rb"\r\nNats-Msg-Id: %b([0-9]+)\r\n" % re.escape(id_prefix.encode()))
    found: set[int] = set()
    for rows in PullReader(target, domain, written, refuse_loss, headers_only=True).read():
        for headers in rows.headers.to_pylist() if rows.headers is not None else ():
            if headers and (match := pattern.search(headers)):
                found.add(int(match[1]))
    return frozenset(found)
