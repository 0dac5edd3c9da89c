"""The block `auth_http`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from framework.topology import ConfigSection, Kind, Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PORTS = {"http": 80, "https": 443}


def _url_problem(value: object) -> str | None:
    try:
        url = urlsplit(str(value))
        is_whole = url.scheme in PORTS and url.hostname and url.port != 0
    except ValueError:
        is_whole = False
    if not is_whole:
        return "is no http:// or https:// URL"
    if url.username or url.password:
        return "has a login in it; set `bearer` instead"
    return None


def _settle(values: dict[str, object]) -> Iterable[tuple[str, str]]:
    if not values["url"]:
        yield "url", "is missing"
    if values["ca_file"] and str(values["url"]).startswith("http:"):
        yield "ca_file", "is for https:// only"


SECTION = ConfigSection(
    name="auth_http",
    help="An HTTP service that says who may log in",
    settle=_settle,
    options=(
        Option(
            name="url",
            kind=Kind.STRING,
            default="",
            help="Where logins are posted to",
            check=_url_problem,
        ),
        Option(
            name="timeout",
            kind=Kind.DURATION,
            default=2.0,
            minimum=0.01,
            maximum=60,
            help="How long an answer may take",
        ),
        Option(
            name="concurrency",
            kind=Kind.INT,
            default=16,
            minimum=1,
            maximum=1_000,
            unit="requests",
            help="How many requests the service gets at once; the other logins wait",
        ),
        Option(
            name="cache_ttl",
            kind=Kind.DURATION,
            default=30.0,
            minimum=0,
            help="How long the service is not asked again about who was let in",
        ),
        Option(
            name="cache_size",
            kind=Kind.INT,
            default=10_000,
            minimum=0,
            unit="logins",
            help="How many of them are remembered",
        ),
        Option(
            name="failures",
            kind=Kind.INT,
            default=5,
            minimum=1,
            help="After so many in a row the service counts as down",
        ),
        Option(
            name="pause",
            kind=Kind.DURATION,
            default=5.0,
            minimum=0.01,
            help="How long a service that is down is left alone",
        ),
        Option(
            name="when_down",
            kind=Kind.STRING,
            default="refuse",
            choices=("refuse", "pass"),
            help="What happens to logins then: refused, or passed on to the next authenticator",
        ),
        Option(
            name="ca_file",
            kind=Kind.STRING,
            default="",
            help="Authorities that the service's certificate is checked against, in PEM",
        ),
        Option(
            name="bearer",
            kind=Kind.STRING,
            default="",
            secret=True,
            help="Sent to the service as `Authorization: Bearer`",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Config:
    url: str
    """Without its query, so that it may be shown."""
    is_https: bool
    host: str
    port: int
    netloc: str
    target: str = field(repr=False)
    bearer: str = field(repr=False)
    ca_file: str
    timeout_s: float
    concurrency: int
    cache_ttl_s: float
    cache_size: int
    failures: int
    pause_s: float
    passes_when_down: bool


def config_from_section(section: Mapping[str, Any]) -> Config:
    url = urlsplit(section["url"])
    path = url.path or "/"
    assert url.hostname
    return Config(
        url=f"{url.scheme}://{url.netloc}{path}",
        is_https=url.scheme == "https",
        host=url.hostname,
        port=url.port or PORTS[url.scheme],
        netloc=url.netloc,
        target=path + (f"?{url.query}" if url.query else ""),
        bearer=section["bearer"],
        ca_file=section["ca_file"],
        timeout_s=section["timeout"],
        concurrency=section["concurrency"],
        cache_ttl_s=section["cache_ttl"],
        cache_size=section["cache_size"],
        failures=section["failures"],
        pause_s=section["pause"],
        passes_when_down=section["when_down"] == "pass",
    )
