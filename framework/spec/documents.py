"""Parts of monitoring documents that several endpoints share.

Source: nats-server `monitor.go`, `newClientSubDetail`.
"""

from __future__ import annotations

from framework.dataplane.link import SubscriptionRow


def subscription_detail(row: SubscriptionRow, cid: int) -> dict[str, object]:
    """Return one subscription of a connection, whose connection ID is `cid`."""
    document: dict[str, object] = {"subject": text_from_bytes(row.subject)}
    if row.queue:
        document["qgroup"] = text_from_bytes(row.queue)
    document["sid"] = text_from_bytes(row.sid)
    document["msgs"] = row.msgs
    if row.max_msgs:
        document["max"] = row.max_msgs
    document["cid"] = cid
    return document


def text_from_bytes(data: bytes) -> str:
    """Return a subject as JSON can hold it: what is no UTF-8 becomes U+FFFD, as in Go."""
    return data.decode("utf-8", "replace")
