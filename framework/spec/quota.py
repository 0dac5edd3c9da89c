"""Quotas: how much clients may publish in a second."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from framework.spec._checks import check, check_name, check_subject

QUOTAS_MAX = 8
"""Of one client; further ones are left out, with a line in the log."""


class Quota(Struct, frozen=True, kw_only=True):
    """Messages and bytes a second that clients may publish, and in a burst."""

    name: str
    """Shown in `/quotaz`; two quotas with one name that count for the same are one."""
    messages: float = 0.0
    """A second; 0: no limit."""
    bytes: float = 0.0
    """Of headers and payloads, a second; 0: no limit. A message that is larger than what is left
    passes, and is paid for later."""
    burst_messages: float = 0.0
    """That may come at once; 0: what may come in a second."""
    burst_bytes: float = 0.0
    per: Literal["connection", "user", "account", "address"] = "user"
    """Whose publications count together; clients without a login are one user of their account."""
    subject: str = ""
    """As clients publish it, before mappings; empty: all."""
    over: Literal["wait", "refuse"] = "wait"
    """Who is over it is read no further until there is room, or hears an error, once a second."""

    def __post_init__(self) -> None:
        check_name("quota", self.name)
        what = f"quota {self.name}"
        for field in ("messages", "bytes", "burst_messages", "burst_bytes"):
            value = getattr(self, field)
            check(what, field, value, is_good=0 <= value < float("inf"), expected="0 or more")
        pers = {"connection", "user", "account", "address"}
        check(what, "per", self.per, is_good=self.per in pers, expected=" or ".join(sorted(pers)))
        check(
            what, "over", self.over, is_good=self.over in {"wait", "refuse"},
            expected="wait or refuse",
        )  # fmt: skip
        if self.subject:
            check_subject(what, self.subject)


class QuotaRow(Struct, frozen=True):
    """A quota of some clients at a moment."""

    quota: Quota
    who: str
    """Whose: a cid, `account/user`, an account, or an address."""
    clients: int
    passed: int
    """Messages that passed it; the newest may be missing."""
    waited: int
    """How often a client had to wait."""
    refused: int
    """Messages."""
