"""What is asked of every plugin."""

from __future__ import annotations

from framework.testing.contract import PluginContract


class TestContract(PluginContract):
    PLUGIN = "websocket"
    CONFIG = 'websocket { listen: "127.0.0.1:-1", no_tls: true }'
