"""Quotas by rules of the configuration: per user, account or address, and on a subject."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

from framework import hookimpl
from framework.spec import Quota
from framework.topology import Kind, Reload, Setting, section_of
from framework.wire import is_valid_subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import ConnectionInfo, ServerContext
    from framework.topology import ConfigSection

LIVE = Reload.LIVE


class Rule(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Setting(help="Shown in /quotaz", reload=LIVE)]
    account: Annotated[str, Setting(help="Only for clients of it; empty: of all", reload=LIVE)] = ""
    user: Annotated[str, Setting(help="Only for this one; empty: for all", reload=LIVE)] = ""
    address: Annotated[str, Setting(help="Only from this range; empty: from all", reload=LIVE)] = ""
    per: Annotated[
        Literal["connection", "user", "account", "address"],
        Setting(help="Whose publications count together", reload=LIVE),
    ] = "user"
    subject: Annotated[str, Setting(help="Of what counts; empty: all", reload=LIVE)] = ""
    messages: Annotated[int, Setting(help="A second; 0: any number", minimum=0, reload=LIVE)] = 0
    bytes: Annotated[
        int, Setting(help="A second; 0: any number", kind=Kind.SIZE, minimum=0, reload=LIVE)
    ] = 0
    burst_messages: Annotated[int, Setting(help="At once", minimum=0, reload=LIVE)] = 0
    burst_bytes: Annotated[int, Setting(help="At once", kind=Kind.SIZE, minimum=0, reload=LIVE)] = 0
    over: Annotated[
        Literal["wait", "refuse"], Setting(help="What becomes of more than that", reload=LIVE)
    ] = "wait"

    def __post_init__(self) -> None:
        if self.subject and not is_valid_subject(self.subject):
            raise ValueError(f"{self.name}: {self.subject} is no subject")
        if self.address:
            ip_network(self.address)  # says what is wrong with it
        if not self.messages and not self.bytes:
            raise ValueError(f"{self.name}: needs `messages` or `bytes`")

    def is_for(self, client: ConnectionInfo) -> bool:
        return (
            self.account in {"", client.account}
            and self.user in {"", client.user}
            and (not self.address or ip_address(client.host) in ip_network(self.address))
        )

    def quota(self) -> Quota:
        return Quota(
            name=self.name,
            messages=self.messages,
            bytes=self.bytes,
            burst_messages=self.burst_messages,
            burst_bytes=self.burst_bytes,
            per=self.per,
            subject=self.subject,
            over=self.over,
        )


class QuotaConfig(Struct, frozen=True):
    rules: Annotated[
        tuple[Rule, ...], Setting(help="Each is for the clients that it names", reload=LIVE)
    ] = ()


@hookimpl
def framework_config_sections() -> Iterator[ConfigSection]:
    yield section_of(QuotaConfig, name="quota", help="How much clients may publish", reload=LIVE)


@hookimpl
def framework_quotas(server: ServerContext, client: ConnectionInfo) -> Iterator[Quota]:
    config = server.config.section_as(QuotaConfig) or QuotaConfig()
    yield from (rule.quota() for rule in config.rules if rule.is_for(client))
