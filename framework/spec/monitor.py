"""Monitoring endpoints and health checks of plugins."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from framework.spec._checks import check, check_function, check_name
from framework.spec.request_options import NoOptions
from framework.spec.transport import Credentials

JSON: Final = "application/json"


class MonitorEndpoint(Struct, frozen=True, kw_only=True):
    """A monitoring document: by a path, by a `$SYS` request, or both."""

    path: str = ""
    """With its slash, such as `/routez`; empty: it can only be asked for by message."""
    answer: Callable[[Any], Awaitable[object]]
    """Takes `options` as the request sets them; returns what `json.dumps` takes, and `Rows` for
    long arrays.

    It may raise `BadQuery`, and `NoAnswer` when a message asks every server, and this one has
    nothing to say.
    """
    options: type[Struct] = NoOptions
    """What a request may ask for, each with a default: bool, int, `Unsigned`, str, tuple of str.

    A URL's query and a request's JSON are read into it alike; other names in them are not looked
    at. A value of the wrong type is refused in nats-server's words. A field is called as in the
    JSON, or `field(name=...)` says how; `Annotated[..., InQuery(...)]` says how in a query.
    """
    help: str = ""
    """One line for the index page; empty: it is not shown there."""
    request: str = ""
    """What `$SYS.REQ.SERVER.PING.<request>` calls it, such as `ROUTEZ`; empty: nothing does."""
    account_request: str = ""
    """What `$SYS.REQ.ACCOUNT.<account>.<request>` calls it.

    The account comes as the option `account`, or as the only one of `accounts`.
    """
    status: str = ""
    """Field of the status line that a server writes for its supervisor each second; empty: none.

    It is answered without options, and should be small: a line has 32 KiB at most.
    """
    content_type: str = JSON
    """Of what `answer` returns: other than JSON it is text or bytes, for HTTP alone."""
    is_fallback: bool = False
    """It answers only while no plugin has its path or one of its requests."""

    def __post_init__(self) -> None:
        what = f"endpoint {self.path or self.request or self.account_request or self.status}"
        is_path = not self.path or self.path.startswith("/")
        check(what, "path", self.path, is_good=is_path, expected="a leading /")
        check_function(what, "answer", self.answer, is_async=True)
        options: object = self.options
        is_struct = isinstance(options, type) and issubclass(options, Struct)
        check(what, "options", self.options, is_good=is_struct, expected="a Struct of options")
        names = self.options.__struct_fields__
        check(
            what,
            "options",
            self.options,
            is_good=not self.account_request or "account" in names or "accounts" in names,
            expected="a field `account`, for `account_request`",
        )
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


class DownloadRequest(Struct, frozen=True, kw_only=True):
    """What somebody asks for over HTTP, and who it is."""

    name: str
    """What stands behind the folder."""
    options: Any
    """As the query sets them."""
    credentials: Credentials
    """By the header `Authorization`; empty ones: it says nothing."""
    host: str
    port: int


class Download(Struct, frozen=True, kw_only=True):
    """What is sent: any number of bytes, as fast as they are taken."""

    content_type: str
    pieces: AsyncGenerator[bytes, None]
    """Asked for the next one when most of the last was taken. One that raises cuts the connection,
    so that nobody takes a part for the whole."""
    close: Callable[[], object]
    """Called once, when nobody wants more, even if nobody has asked for a piece."""


class DownloadSpec(Struct, frozen=True, kw_only=True):
    """Files of the monitoring port that are made while they are sent."""

    folder: str
    """With slashes around it, such as `/stream/`; what is behind it is the plugin's."""
    open: Callable[[DownloadRequest], Awaitable[Download]]
    """Begins one; it decides who may have it.

    It may raise `BadQuery`, and `DownloadRefused` with a status.
    """
    options: type[Struct] = NoOptions
    """What a query may ask for; see `MonitorEndpoint.options`."""
    help: str = ""
    """One line for the index page; empty: it is not shown there."""

    def __post_init__(self) -> None:
        what = f"download {self.folder}"
        good = len(self.folder) > 1 and self.folder[0] == self.folder[-1] == "/"
        check(what, "folder", self.folder, is_good=good, expected="slashes around it")
        check_function(what, "open", self.open, is_async=True)
        options: object = self.options
        is_struct = isinstance(options, type) and issubclass(options, Struct)
        check(what, "options", self.options, is_good=is_struct, expected="a Struct of options")


class MonitorFields(Struct, frozen=True, kw_only=True):
    """Fields of a plugin in a document of the core."""

    document: Literal["/varz", "STATSZ"]
    names: tuple[str, ...]
    """Each has one owner. A field that the core fills stays the core's; those that stand empty in
    nats-server without a concern, such as `cluster` in `/varz`, are for plugins."""
    make: Callable[[], Awaitable[Mapping[str, object]]]
    """Returns values of `names`; one that it leaves out is as it would be without the plugin."""

    def __post_init__(self) -> None:
        what = f"fields of {self.document}"
        good = self.document in {"/varz", "STATSZ"}
        check(what, "document", self.document, is_good=good, expected="/varz or STATSZ")
        check(what, "names", self.names, is_good=bool(self.names), expected="at least one")
        check_function(what, "make", self.make, is_async=True)


class HealthQuestion(Struct, frozen=True, kw_only=True):
    """What somebody wants to know of streams, by the options of `/healthz`."""

    account: str = ""
    """Empty: about all, as below."""
    stream: str = ""
    consumer: str = ""
    is_shallow: bool = False
    """Only whether JetStream works, not how its streams are."""
    is_of_cluster: bool = True
    """Also whether servers that share streams agree on who has what."""


class HealthProblem(Struct, frozen=True, kw_only=True):
    """What is wrong, and with what."""

    kind: Literal["JETSTREAM", "ACCOUNT", "STREAM", "CONSUMER"]
    error: str
    account: str = ""
    stream: str = ""
    consumer: str = ""
    is_missing: bool = False
    """What was asked for is not there."""


def _is_well() -> str | None:
    return None


def _finds_nothing(_: HealthQuestion) -> Sequence[HealthProblem]:
    return ()


class HealthCheck(Struct, frozen=True, kw_only=True):
    """A check that `/healthz` makes; it answers at once, from what is known already."""

    name: str
    check: Callable[[], str | None] = _is_well
    """None when all is well, else what is wrong."""
    examine: Callable[[HealthQuestion], Sequence[HealthProblem]] = _finds_nothing
    """Says what is wrong with streams, or with those that were asked for."""

    def __post_init__(self) -> None:
        check_name("health check", self.name)
        check_function(f"health check {self.name}", "check", self.check)
        check_function(f"health check {self.name}", "examine", self.examine)
