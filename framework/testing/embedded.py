"""A server inside the test's own process."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from framework.dataplane import LinkKind
from framework.plugins import PluginRegistry
from framework.server import Server
from framework.server.logging.logs import Logs
from framework.topology import read_server_conf


@contextlib.asynccontextmanager
async def embedded_server(
    folder: Path, config: str = "", *, plugins: tuple[str, ...] = ()
) -> AsyncIterator[Server]:
    """Run a server in this event loop, with the named plugins alone.

    Args:
        folder: Gets its configuration file and its log.
        config: What stands in that file; the server listens on a free port of 127.0.0.1.
        plugins: Entry points, modules or paths, as `--plugin` takes them.

    Yields:
        The server, ready; it is stopped afterwards.
    """
    registry = PluginRegistry.load(plugins, installed=False)
    path = folder / "embedded.conf"
    path.write_text(f'listen: "127.0.0.1:-1"\nlog_file: "{folder}/embedded.log"\n{config}', "utf-8")
    conf = read_server_conf(path, registry.config_sections())
    logs = Logs()
    try:
        server = Server(conf, registry, logs=logs)
        await server.start()
        try:
            yield server
        finally:
            await server.stop()
    finally:
        logs.close()


def client_port(server: Server) -> int:
    """Return the port on which an embedded server listens for clients."""
    address = server.address(LinkKind.CLIENT)
    assert address, "the server is not ready"
    return address[1]
