"""Distinguished names such as `CN=ann,OU=clients`, in texts and in certificates.

Source: RFC 4514; nats-server `internal/ldap/dn.go`; Go `crypto/x509/pkix`, `RDNSequence.String`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Part: TypeAlias = frozenset[tuple[str, str]]
"""Pairs of type, in lower case, and value that stand together: `CN=ann+UID=7`."""
Name: TypeAlias = tuple[Part, ...]

_TYPES: Final = {
    "2.5.4.6": "C",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.3": "CN",
    "2.5.4.5": "SERIALNUMBER",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.17": "POSTALCODE",
    "0.9.2342.19200300.100.1.25": "DC",
}
_SHOWN_ORDER: Final = ("SERIALNUMBER", "CN", "POSTALCODE", "STREET", "ST", "L", "OU", "O", "C")
"""In which Go writes a subject, whatever the order in the certificate."""

_ITEM: Final = re.compile(
    r"\s*([^=,+\\]+?)\s*=(?!#)\s*((?:[^,+\\]|\\[0-9A-Fa-f]{2}|\\.)*?) *([,+]|$)"
)
_ESCAPE: Final = re.compile(r'\\(?:([ "#+,;<=>\\])|([0-9A-Fa-f]{2}))')
_SPECIAL: Final = re.compile(r'[,+"\\<>;]|^[ #]| $')


def parse_name(text: str) -> Name | None:
    """Take a text apart; None when it is no distinguished name."""
    parts: list[Part] = []
    together: list[tuple[str, str]] = []
    at = 0
    while at < len(text) or together:
        item = _ITEM.match(text, at)
        if item is None:
            return None
        together.append((item[1].lower(), _unescape(item[2])))
        at = item.end()
        if item[3] != "+":
            parts.append(frozenset(together))
            together = []
    return tuple(parts) or None


def name_from_subject(subject: Sequence[Sequence[tuple[str, str]]]) -> Name | None:
    """Return the name of a certificate, last part first as texts have it.

    Args:
        subject: Parts, each of pairs of dotted object identifier and value, as they stand there.

    Returns:
        None when it has a type that nobody would write.
    """
    if any(oid not in _TYPES for part in subject for oid, _ in part):
        return None
    return tuple(
        frozenset((_TYPES[oid].lower(), value) for oid, value in part)
        for part in reversed(subject)
        if part
    )


def without_order(name: Name) -> frozenset[tuple[Part, int]]:
    """Return what two names have in common whose parts stand in another order."""
    return frozenset(Counter(name).items())


def texts_from_subject(subject: Sequence[Sequence[tuple[str, str]]]) -> Iterable[str]:
    """Yield how Go writes a subject: with its domain components last, if it has any; without."""
    values: dict[str, list[str]] = {}
    for part in subject:
        for oid, value in part:
            values.setdefault(_TYPES.get(oid, ""), []).append(value)
    shown = ",".join(
        "+".join(f"{kind}={_escape(value)}" for value in _shown_values(kind, values[kind]))
        for kind in _SHOWN_ORDER
        if kind in values
    )
    domain = ",".join(f"DC={value}" for value in values.get("DC", ()))
    if domain:
        yield f"{shown},{domain}"
    yield shown


def _shown_values(kind: str, values: list[str]) -> list[str]:
    """Of a name and a serial number, Go keeps the last one only."""
    return values[-1:] if kind in {"CN", "SERIALNUMBER"} else values


def _escape(value: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found[0], value)


def _unescape(value: str) -> str:
    def byte_or_character(found: re.Match[bytes]) -> bytes:
        return found[1] or bytes.fromhex(found[2].decode())

    pattern = _ESCAPE.pattern.encode()
    return re.sub(pattern, byte_or_character, value.encode()).decode(errors="replace")
