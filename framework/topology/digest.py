"""Digest of a configuration, as nats-server shows it.

The digest is that of the parsed file, written as JSON as Go does it: so a comment more, or another
order, changes nothing.

Source: nats-server `conf/parse.go`, `ParseFileWithChecksDigest`; Go `encoding/json`.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from decimal import Decimal
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framework.topology.node import Node, Scalar

__all__ = ["digest_of"]

_ESCAPED = "[<>&\u2028\u2029\ud800-\udfff]"
"""What Go escapes and Python does not; the last are bytes that are not UTF-8."""
_NOT_UTF8 = "\ufffd"

_PLAIN_MIN, _PLAIN_MAX = 1e-6, 1e21
"""Between these Go writes a number without exponent."""


def digest_of(settings: Node) -> str:
    """Return `sha256:` and a digest of what a configuration says, before any default.

    Args:
        settings: A whole file, or all that a topology says of one server.
    """
    text = f"{_json(settings)}\n"
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _json(node: Node) -> str:
    match node.value:
        case str() as text:
            return _text(text)
        case dict() as table:
            names = sorted(table, key=lambda name: name.encode(errors="surrogateescape"))
            return f"{{{','.join([f'{_text(name)}:{_json(table[name])}' for name in names])}}}"
        case list() as items:
            return f"[{','.join([_json(item) for item in items])}]"
        case scalar:
            return _json_scalar(scalar)


def _json_scalar(scalar: Scalar) -> str:
    match scalar:
        case float() as number:
            return _number(number)
        case datetime() as moment:
            return _text(moment.isoformat().replace("+00:00", "Z"))
        case None | bool() | int() as plain:
            return json.dumps(plain)
        case other:
            return _text(str(other))


def _text(text: str) -> str:
    return re.sub(_ESCAPED, _escape, encode_basestring(text))


def _escape(match: re.Match[str]) -> str:
    is_byte = match[0] >= "\ud800"
    return f"\\u{ord(_NOT_UTF8 if is_byte else match[0]):04x}"


def _number(number: float) -> str:
    if number and not _PLAIN_MIN <= abs(number) < _PLAIN_MAX:
        return repr(number).replace("e-0", "e-")
    return format(Decimal(repr(number)), "f").removesuffix(".0")
