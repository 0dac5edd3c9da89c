"""A gate that rewrites payloads: what matches a pattern is blotted out before anybody gets it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from framework import hookimpl
from framework.spec import PASS, GateSpec, Rewrite
from framework.topology import Reload, Setting, section_of
from framework.wire import is_valid_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.spec import Batch, ServerContext, Verdict
    from framework.topology import ConfigSection

LIVE = Reload.LIVE


def _complaint(pattern: str) -> str | None:
    try:
        re.compile(pattern.encode())
    except re.error as error:
        return f"is no regular expression: {error}"
    return None


class RedactConfig(Struct, frozen=True):
    subject: Annotated[
        str,
        Setting(
            help="Messages on it are looked at; it may have wildcards",
            check=lambda value: None if is_valid_subject(value) else "is no subject",
            reload=LIVE,
        ),
    ] = ">"
    pattern: Annotated[
        str,
        Setting(
            help="Regular expression for what nobody should read", check=_complaint, reload=LIVE
        ),
    ] = r"\b\d{13,16}\b"
    mark: Annotated[str, Setting(help="Stands in its place", reload=LIVE)] = "[redacted]"


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(
        RedactConfig, name="redact", help="Take what nobody should read out", reload=LIVE
    )


@hookimpl
def framework_gates(server: ServerContext) -> Iterator[GateSpec]:
    if config := server.config.section_as(RedactConfig):
        pattern, mark = re.compile(config.pattern.encode()), config.mark.encode()

        def verdict(payload: bytes) -> Verdict:
            redacted, count = pattern.subn(mark, payload)
            return Rewrite(payload=redacted) if count else PASS

        def decide(batch: Batch) -> Sequence[Verdict]:
            return [verdict(bytes(batch.payload(index))) for index in range(len(batch))]

        # Last of several, so that nothing that others put in slips by; closed, as all gates are.
        yield GateSpec(name="redact", subject=config.subject, decide=decide, order=1000)
