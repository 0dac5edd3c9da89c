"""Monitoring endpoints and health checks of plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Final

from msgspec import Struct

from framework.spec._checks import check, check_function, check_name

JSON: Final = "application/json"


class OptionKind(Enum):
    """Type of an option of a `$SYS` request; the values are Go's names, for errors."""

    FLAG = "bool"
    INT = "int"
    UNSIGNED = "uint64"
    TEXT = "string"
    TEXTS = "[]string"


class RequestOption(Struct, frozen=True):
    """An option in the JSON of a `$SYS` request, and its name in a URL."""

    name: str
    """In the JSON."""
    kind: OptionKind
    query: str = ""
    """In the query of the URL; empty: as in the JSON."""
    texts: tuple[str, ...] = ()
    """What the query says for 0, 1, ... of a number; for a flag, what it says instead of `1`."""


class MonitorEndpoint(Struct, frozen=True, kw_only=True):
    """A monitoring document: by a path, by a `$SYS` request, or both."""

    path: str = ""
    """With its slash, such as `/routez`; empty: it can only be asked for by message."""
    answer: Callable[[Mapping[str, str]], Awaitable[object]]
    """Takes the query of the URL; returns what `json.dumps` takes, and `Rows` for long arrays.

    It may raise `BadQuery`, and `NoAnswer` when a message asks every server, and this one has
    nothing to say.

    The options of a request come as the query that means the same, texts of a list between spaces.
    """
    help: str = ""
    """One line for the index page; empty: it is not shown there."""
    request: str = ""
    """What `$SYS.REQ.SERVER.PING.<request>` calls it, such as `ROUTEZ`; empty: nothing does."""
    account_request: str = ""
    """What `$SYS.REQ.ACCOUNT.<account>.<request>` calls it; the account comes as `acc`."""
    status: str = ""
    """Field of the status line that a server writes for its supervisor each second; empty: none.

    It is answered with an empty query, and should be small: a line has 32 KiB at most.
    """
    options: tuple[RequestOption, ...] = ()
    """What the JSON of both requests may have; other fields are not looked at."""
    content_type: str = JSON
    """Of what `answer` returns: other than JSON it is text or bytes, for HTTP alone."""
    is_fallback: bool = False
    """It answers only while no plugin has its path or one of its requests."""

    def __post_init__(self) -> None:
        what = f"endpoint {self.path or self.request or self.account_request or self.status}"
        is_path = not self.path or self.path.startswith("/")
        check(what, "path", self.path, is_good=is_path, expected="a leading /")
        check_function(what, "answer", self.answer, is_async=True)
        is_json = self.content_type == JSON
        is_for_http = not (self.request or self.account_request or self.status)
        expected = "JSON, as it is asked for by message as well"
        check(
            what,
            "content_type",
            self.content_type,
            is_good=is_json or is_for_http,
            expected=expected,
        )


class HealthCheck(Struct, frozen=True, kw_only=True):
    """A check that `/healthz` makes."""

    name: str
    check: Callable[[], str | None]
    """Answers at once, from what is known already: None when all is well, else what is wrong."""

    def __post_init__(self) -> None:
        check_name("health check", self.name)
        check_function(f"health check {self.name}", "check", self.check)
