"""A gate that refuses what does not fit a JSON schema, and tells its publisher why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import jsonschema_rs
from msgspec import Struct

from framework import hookimpl
from framework.spec import PASS, GateSpec, Refuse
from framework.topology import Reload, Setting, section_of
from framework.wire import is_valid_subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.spec import Batch, ServerContext, Verdict
    from framework.topology import ConfigSection

UNPROCESSABLE = 422

LIVE = Reload.LIVE


def _complaint(file: str) -> str | None:
    try:
        jsonschema_rs.validator_for(json.loads(Path(file).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        return f"is no JSON schema: {error}"
    return None


class SchemaConfig(Struct, frozen=True):
    file: Annotated[
        str, Setting(help="JSON schema that payloads must fit", check=_complaint, reload=LIVE)
    ]
    subject: Annotated[
        str,
        Setting(
            help="Messages on it must fit; it may have wildcards",
            check=lambda value: None if is_valid_subject(value) else "is no subject",
            reload=LIVE,
        ),
    ] = ">"


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(
        SchemaConfig, name="schema", help="Refuse messages that do not fit a schema", reload=LIVE
    )


@hookimpl
def framework_gates(server: ServerContext) -> Iterator[GateSpec]:
    if config := server.config.section_as(SchemaConfig):
        text = Path(config.file).read_text(encoding="utf-8")
        validator = jsonschema_rs.validator_for(json.loads(text))

        def verdict(payload: memoryview, reply: memoryview) -> Verdict:
            try:
                validator.validate(json.loads(bytes(payload)))
            except ValueError as error:  # no JSON, or no fitting JSON
                return refusal(error, is_request=len(reply) > 0)
            return PASS

        def decide(batch: Batch) -> Sequence[Verdict]:
            return [verdict(batch.payload(at), batch.reply(at)) for at in range(len(batch))]

        yield GateSpec(name="schema", subject=config.subject, decide=decide)


def refusal(error: ValueError, *, is_request: bool) -> Refuse:
    """Say what is wrong where the publisher looks for it: in the answer, or in an error."""
    shown = getattr(error, "message", None) or str(error)
    why = "".join(it if " " <= it <= "~" and it != "'" else " " for it in shown)[:200]
    if is_request:
        return Refuse(status=UNPROCESSABLE, description=why)
    return Refuse(error=why)
