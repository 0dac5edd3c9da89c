"""What is asked of every plugin."""

from __future__ import annotations

from typing import ClassVar

from framework.testing.contract import PluginContract


class TestContract(PluginContract):
    PLUGIN = "auth"
    CONFIG = "authorization { user: ann, password: plain }"
    LOGIN: ClassVar = {"user": "ann", "pass": "plain"}
