"""What the plugin hands to the server: it does nothing unless there is a block `auth_http`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from framework import hookimpl
from framework.errors import PluginError
from framework.spec import Authenticator
from framework_auth_http.authenticator import HttpAuthenticator
from framework_auth_http.cache import Cache
from framework_auth_http.circuit import Circuit
from framework_auth_http.config import SECTION, config_from_section
from framework_auth_http.connection import Dialer, tls_context
from framework_auth_http.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import ServerContext
    from framework.topology import ConfigSection

MARGIN_S = 1.0
"""From the connection to CONNECT; then a login may wait for its turn, and for the answer."""


class Plugin:
    """Every server has one of its own."""

    def __init__(self) -> None:
        self._service: Service | None = None
        self._authenticator: HttpAuthenticator | None = None

    @hookimpl
    def framework_config_sections(self) -> Iterator[ConfigSection]:
        yield SECTION

    @hookimpl
    def framework_authenticators(self, server: ServerContext) -> Iterator[Authenticator]:
        section = server.config.section("auth_http")
        if section is None:
            return
        config, now_s = config_from_section(section), asyncio.get_running_loop().time
        try:
            dialer = Dialer(config, tls_context(config))
        except OSError as error:
            raise PluginError("auth_http", f"ca_file {config.ca_file}: {error}") from error
        if not (config.is_https or config.host in {"localhost", "127.0.0.1", "::1"}):
            server.log.warning("Passwords travel to the login service in the clear: use https://")
        circuit = Circuit(
            failures_max=config.failures,
            pause_s=config.pause_s,
            now_s=now_s,
            report=lambda text: server.log.warning("{detail}", detail=text, url=config.url),
        )
        self._service = Service(
            dialer, circuit, timeout_s=config.timeout_s, concurrency=config.concurrency
        )
        cache = Cache(ttl_s=config.cache_ttl_s, size_max=config.cache_size, now_s=now_s)
        self._authenticator = HttpAuthenticator(
            self._service, cache, passes_when_down=config.passes_when_down
        )
        yield Authenticator(
            name="auth_http",
            authenticate=self._authenticator.authenticate,
            timeout_s=2 * config.timeout_s + MARGIN_S,
        )

    @hookimpl
    def framework_server_stopping(self) -> None:
        if self._authenticator and self._service:
            self._authenticator.stop()
            self._service.stop()
