"""What is asked of every plugin."""

from __future__ import annotations

from framework.testing.contract import PluginContract


class TestContract(PluginContract):
    PLUGIN = "leafnode"
    CONFIG = 'leafnodes { listen: "127.0.0.1:-1" }'
