"""Settings of the block `tap`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

from framework.spec import GLOBAL_ACCOUNT
from framework.topology import Kind, Reload, Setting, section_of
from framework.wire import is_valid_subject, overlaps
from framework_tap.limits import PAYLOAD_MAX, REDACTIONS_MAX

if TYPE_CHECKING:
    from framework.topology import ConfigSection

LIVE = Reload.LIVE
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _subjects_complaint(value: tuple[str, ...]) -> str | None:
    wrong = next((it for it in value if not is_valid_subject(it)), None)
    if wrong is not None:
        return f"{wrong!r} is no subject"
    if not value:
        return "names no subject"
    for own in (it for it in value if it.startswith("$")):
        if overlaps(own.encode(), b"$TAP.>") or overlaps(own.encode(), b"$TAPS.>"):
            return f"{own!r} has what taps write themselves"
    for at, one in enumerate(value):
        for other in value[at + 1 :]:
            if overlaps(one.encode(), other.encode()):
                return f"{one!r} and {other!r} overlap: their messages would come twice"
    return None


def _pattern_complaint(value: tuple[str, ...]) -> str | None:
    if len(value) > REDACTIONS_MAX:
        return f"has more than {REDACTIONS_MAX} patterns"
    for pattern in value:
        try:
            re.compile(pattern.encode())
        except re.error as error:
            return f"{pattern!r} is no regular expression: {error}"
    return None


class TapRule(Struct, frozen=True, kw_only=True):
    """What is recorded, what of it, and where to."""

    subjects: Annotated[
        tuple[str, ...],
        Setting(
            help="Messages on these; a wildcard at the beginning leaves out subjects with `$`",
            check=_subjects_complaint,
            reload=LIVE,
        ),
    ] = (">",)
    accounts: Annotated[
        tuple[str, ...], Setting(help="Whose messages; each into a stream of its own", reload=LIVE)
    ] = (GLOBAL_ACCOUNT,)
    one_in: Annotated[
        int, Setting(help="Records one of so many, by chance", minimum=1, reload=LIVE)
    ] = 1
    max_payload: Annotated[
        int,
        Setting(
            help="What is longer is cut; 0 leaves payloads out",
            kind=Kind.SIZE,
            minimum=0,
            maximum=PAYLOAD_MAX,
            reload=LIVE,
        ),
    ] = 64 * 1024
    headers: Annotated[bool, Setting(help="Records headers, too", reload=LIVE)] = True
    redact: Annotated[
        tuple[str, ...],
        Setting(
            help="Regular expressions; what they match in a payload is overwritten by `*`",
            check=_pattern_complaint,
            reload=LIVE,
        ),
    ] = ()
    redact_headers: Annotated[
        tuple[str, ...],
        Setting(help="Names of headers whose values are overwritten by `*`", reload=LIVE),
    ] = ("Authorization", "Cookie", "Nats-Request-Info")
    latency: Annotated[
        bool, Setting(help="Records how long requests waited for their first answer", reload=LIVE)
    ] = False
    inboxes: Annotated[
        tuple[str, ...],
        Setting(
            help="Where answers come to, for `latency`", check=_subjects_complaint, reload=LIVE
        ),
    ] = ("_INBOX.>",)
    buffer: Annotated[
        int,
        Setting(
            help="What may wait to be recorded; more is dropped and counted",
            kind=Kind.SIZE,
            minimum=1024 * 1024,
            reload=LIVE,
        ),
    ] = 8 * 1024 * 1024
    flush_interval: Annotated[
        float, Setting(help="What was recorded is written after so long", minimum=0.01, reload=LIVE)
    ] = 0.25
    sink: Annotated[
        Literal["stream", "parquet"], Setting(help="Where the rows go", reload=LIVE)
    ] = "stream"
    stream: Annotated[str, Setting(help="Its name; `TAP_<rule>`, if not set", reload=LIVE)] = ""
    storage: Annotated[
        Literal["file", "memory"], Setting(help="Of the stream, when it is made", reload=LIVE)
    ] = "file"
    replicas: Annotated[
        int, Setting(help="Of the stream, when it is made", minimum=1, maximum=5, reload=LIVE)
    ] = 1
    max_bytes: Annotated[
        int,
        Setting(
            help="Of the stream, when it is made: the oldest rows go", kind=Kind.SIZE, reload=LIVE
        ),
    ] = 1024 * 1024 * 1024
    max_age: Annotated[
        float, Setting(help="Of the stream, when it is made; 0: no limit", minimum=0, reload=LIVE)
    ] = 86_400.0
    folder: Annotated[
        str, Setting(help="Of Parquet segments; `tap/<rule>`, if not set", reload=LIVE)
    ] = ""
    segment_bytes: Annotated[
        int, Setting(help="A segment ends when it is longer", kind=Kind.SIZE, reload=LIVE)
    ] = 64 * 1024 * 1024
    segment_age: Annotated[
        float, Setting(help="A segment ends when it is older", minimum=1, reload=LIVE)
    ] = 60.0

    def __post_init__(self) -> None:
        if len(set(self.accounts)) < max(len(self.accounts), 1):
            raise ValueError("`accounts` names none, or one twice")
        if self.latency and self.one_in > 1:
            raise ValueError(
                "`latency` needs every message: a request and its answer; not `one_in`"
            )


class TapConfig(Struct, frozen=True, kw_only=True):
    """The block `tap`."""

    rules: Annotated[
        dict[str, TapRule], Setting(help="What is recorded, by name", reload=LIVE)
    ] = {}

    def __post_init__(self) -> None:
        for name in self.rules:
            if not _NAME.fullmatch(name):
                raise ValueError(f"rule {name!r}: expected at most 64 of A-Z, a-z, 0-9, - and _")


def tap_section() -> ConfigSection:
    """Return the block, which `section_as(TapConfig)` returns; None where there is none.

    Servers without one don't pay for it; so one that is there, were it empty, is what rules of a
    later reload need.
    """
    return section_of(TapConfig, name="tap", help="Messages as tables")
