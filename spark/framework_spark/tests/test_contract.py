"""What is asked of every plugin."""

from __future__ import annotations

from framework.testing.contract import PluginContract


class TestContract(PluginContract):
    PLUGIN = "spark"
    CONFIG = 'spark { jobs { j { file: "job.py" } } }'


class TestExportContract(PluginContract):
    PLUGIN = "export"
