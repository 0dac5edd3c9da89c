"""Names that servers agree on: of sources, and of the consumers that they make elsewhere.

Source: nats-server `stream.go`, `composeIName`, `composeCName`; `consumer.go`,
`createStableConsumerHash`, `createSourcingConsumerHash`.
"""

from __future__ import annotations

import hashlib
import string
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework_jetstream.api.records import StreamSource

_DIGITS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_HASH_CHARS: Final = 8
_FORBIDDEN: Final = frozenset(" \t\r\n\f.*>\\/")
ALL: Final = ">"


def short_hash(text: str) -> str:
    """Return 8 characters that stand for a text. Source: nats-server `events.go`, `getHash`."""
    digest = hashlib.sha256(text.encode()).digest()[:_HASH_CHARS]
    return "".join(_DIGITS[byte % len(_DIGITS)] for byte in digest)


def is_asset_name(name: str) -> bool:
    """Whether a stream or consumer may be called like this."""
    return bool(name) and not _FORBIDDEN & set(name)


def _stream_part(source: StreamSource) -> str:
    if source.external is None:
        return source.name
    return f"{source.name}:{short_hash(source.external.api)}"


def name_parts(source: StreamSource) -> tuple[str, str]:
    """Return what names a source among those of a stream: its stream, and filter and destination.

    `Nats-Stream-Source` has both, with the sequence between them.
    """
    stream = _stream_part(source)
    if source.consumer is not None:
        stream += f":C={short_hash(source.consumer.name)}"
    transforms = source.subject_transforms or []
    if not transforms:
        return stream, f"{source.filter_subject or ALL} {ALL}"
    filters = "\f".join(it.src or ALL for it in transforms)
    destinations = "\f".join(it.dest or ALL for it in transforms)
    return stream, f"{filters} {destinations}"


def index_name(source: StreamSource) -> str:
    """Return the name of a source among those of a stream."""
    return " ".join(name_parts(source))


def consumer_key(source: StreamSource) -> str:
    """Return what no two sources of a stream with consumers of their own have in common."""
    consumer = source.consumer.name if source.consumer is not None else ""
    return f"{_stream_part(source)} {consumer}"


def mirror_consumer(stream: str, account: str, domain: str) -> str:
    """Return the name of the consumer that a mirror makes at its origin."""
    return f"JS_MIRROR_{_owner_hash(stream, account, domain)}"


def source_consumer(
    stream: str, account: str, domain: str, source: StreamSource, sources: Sequence[StreamSource]
) -> str:
    """Return the name of the consumer that a stream makes for one of its sources."""
    text = _owner_hash(stream, account, domain)
    if sum(1 for it in sources if it.name == source.name) > 1:
        text += f" {index_name(source)}"
    return f"JS_SRC_{short_hash(text)}"


def _owner_hash(stream: str, account: str, domain: str) -> str:
    return short_hash(" ".join(filter(None, (stream, account, domain))))
