"""A server without plugins says nothing of what plugins bring, but for fields that stand empty."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

from framework.server.status import status_line
from framework.testing.embedded import embedded_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = re.compile("route|cluster|mesh|remote")
PATHS = (
    "/varz",
    "/connz",
    "/connz?auth=1&subs=detail",
    "/subsz?subs=1",
    "/accountz?acc=$G",
    "/accstatz?unused=1",
    "/healthz?details=1",
    "/pluginz",
)
EMPTY_FIELDS = {"cluster", "remotes", "routes"}
"""What clients and tools of nats-server look for, whether there is something or not."""


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield all that stands in a document, by the name of its field; empty blocks as well."""
    match value:
        case dict() if value:
            for key, inner in value.items():
                yield from leaves(key, inner)
        case list() if value:
            for inner in value:
                yield from leaves(name, inner)
        case _:
            yield name, value


async def everything_told(folder: Path) -> dict[str, Any]:
    async with embedded_server(folder, plugins=()) as server:
        context = server._running().context
        told = {path: await document(context, path) for path in PATHS}
        told["status"] = json.loads(status_line(server, await server.status_fields()))
        told["INFO"] = dict(server._running().client_info.fields)
        return told


async def document(context: Any, path: str) -> Any:
    path, _, query = path.partition("?")
    return await context.monitor_document(
        path, dict(it.split("=") for it in query.split("&") if it)
    )


def test_without_plugins_there_is_no_word_of_routes(tmp_path: Path) -> None:
    told = asyncio.run(everything_told(tmp_path))
    found = [
        (path, name, value)
        for path, document in told.items()
        for name, value in leaves("", document)
        if WORDS.search(name) or WORDS.search(str(value).replace(str(tmp_path), ""))
    ]

    assert len(told) == len(PATHS) + 2
    assert {name for _, name, _ in found} <= EMPTY_FIELDS, found
    assert not any(value for _, _, value in found), found
