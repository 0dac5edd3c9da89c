"""What is asked of every plugin."""

from __future__ import annotations

from framework.testing.contract import PluginContract


class TestContract(PluginContract):
    PLUGIN = "tap"
    CONFIG = 'tap { rules { r { subjects: ["a.>"] } } }'
