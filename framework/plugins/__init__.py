"""Find plugins, call their hooks, and keep them apart; the hooks stand in `hookspecs`."""

from framework.plugins._calls import HookCalls
from framework.plugins._plugin_set import LoadedPlugin
from framework.plugins._registry import PluginRegistry
from framework.plugins._usage import CallCounters

__all__ = ["CallCounters", "HookCalls", "LoadedPlugin", "PluginRegistry"]
