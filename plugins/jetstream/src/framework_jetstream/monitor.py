"""What monitoring shows of JetStream: `/jsz`, and the field in `/varz`.

Source: nats-server `monitor.go`, `Jsz`, `JSInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framework.actors import Reply
from framework_jetstream.config import JetStreamConfig
from framework_jetstream.jet_stream import JETSTREAM, JetStream

if TYPE_CHECKING:
    from framework.spec import ServerContext


async def usage(server: ServerContext) -> dict[str, Any]:
    """Return what is stored, as `/jsz` counts it."""
    reply = Reply[dict[str, Any]]()
    server.component(JETSTREAM).tell(JetStream.Describe(reply))
    return await reply


def _config(server: ServerContext) -> dict[str, Any]:
    config = server.config.section_as(JetStreamConfig)
    assert config is not None
    return {
        "max_memory": config.max_memory,
        "max_storage": 0,
        "store_dir": config.store_dir,
        "strict": True,
    }


async def answer_jsz(server: ServerContext, _options: object) -> dict[str, Any]:
    """Return the document of `/jsz`."""
    return {
        **await usage(server),
        "server_id": server.server_id,
        "config": _config(server),
    }


async def varz_fields(server: ServerContext) -> dict[str, Any]:
    """Return `jetstream` of `/varz`."""
    used = await usage(server)
    names = ("memory", "storage", "reserved_memory", "reserved_storage", "accounts", "ha_assets")
    stats = {name: used[name] for name in (*names, "api")}
    return {"jetstream": {"config": _config(server), "stats": stats, "limits": {}}}
