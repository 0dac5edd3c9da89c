"""A tap on what nobody received: it is published once more, where somebody keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from framework import hookimpl
from framework.spec import GLOBAL_ACCOUNT, TapKind, TapSpec
from framework.topology import Reload, Setting, section_of
from framework.wire import is_valid_subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import Batch, ServerContext
    from framework.topology import ConfigSection

LIVE = Reload.LIVE


def _complaint(value: str) -> str | None:
    return None if is_valid_subject(value) else "is no subject"


class DeadLetterConfig(Struct, frozen=True):
    subject: Annotated[
        str, Setting(help="Of messages that are not to be lost", check=_complaint, reload=LIVE)
    ] = ">"
    prefix: Annotated[
        str,
        Setting(help="Stands before the subject of a dead letter", check=_complaint, reload=LIVE),
    ] = "dead"
    account: Annotated[str, Setting(help="Whose messages they are", reload=LIVE)] = GLOBAL_ACCOUNT


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(
        DeadLetterConfig, name="dead_letter", help="Keep what nobody received", reload=LIVE
    )


@hookimpl
def framework_taps(server: ServerContext) -> Iterator[TapSpec]:
    if config := server.config.section_as(DeadLetterConfig):
        account = server.accounts.index(config.account)
        prefix = config.prefix.encode() + b"."

        def receive(batch: Batch) -> None:
            # Without the reply subject: nobody waits for the answer of who reads it later.
            letters = [
                (prefix + subject, b"", header, payload)
                for subject, _, header, payload in batch.detach()
                if not subject.startswith((b"_INBOX.", b"$"))
            ]
            server.plane.publish(account, letters)

        yield TapSpec(
            name="dead_letter",
            subject=config.subject,
            receive=receive,
            kind=TapKind.UNHEARD,
            account=config.account,
        )
