"""Configuration of servers: options, files, flags, topologies.

It opens files that a user names and nothing else: no port, no process, no clock. It does not
know what an option does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.lazy_names import lazy_names
from framework.topology.core_options import CORE_SECTION
from framework.topology.diff import Change, ConfigDiff, diff_configs
from framework.topology.errors import TopologyError, TopologyErrors
from framework.topology.files import read_server_conf
from framework.topology.flags import (
    CommandLine,
    FlagErrors,
    format_help,
    parse_flags,
    plugin_choice,
)
from framework.topology.node import Node
from framework.topology.option import ConfigSection, Flag, Kind, Option, Reload
from framework.topology.place import Place
from framework.topology.planner import Derived, DraftServer, PortSlot, TopologyPlanner
from framework.topology.schema import Schema
from framework.topology.server_config import ServerConfig, inert_settings
from framework.topology.subject_rules import subject_rules_option
from framework.topology.tls_options import TLS_TIMEOUT_S, is_tls_on, login_timeout_s, tls_option
from framework.topology.topology import ServerPlan, Topology
from framework.topology.typed_section import Setting, section_of

if TYPE_CHECKING:
    from framework.topology.explain import explain_topology, topology_document
    from framework.topology.reach import reach_url, says_host
    from framework.topology.topology_file import TopologyFile, open_topology, read_topology

__all__ = [
    "CORE_SECTION",
    "TLS_TIMEOUT_S",
    "Change",
    "CommandLine",
    "ConfigDiff",
    "ConfigSection",
    "Derived",
    "DraftServer",
    "Flag",
    "FlagErrors",
    "Kind",
    "Node",
    "Option",
    "Place",
    "PortSlot",
    "Reload",
    "Schema",
    "ServerConfig",
    "ServerPlan",
    "Setting",
    "Topology",
    "TopologyError",
    "TopologyErrors",
    "TopologyFile",
    "TopologyPlanner",
    "diff_configs",
    "explain_topology",
    "format_help",
    "inert_settings",
    "is_tls_on",
    "login_timeout_s",
    "open_topology",
    "parse_flags",
    "plugin_choice",
    "reach_url",
    "read_server_conf",
    "read_topology",
    "says_host",
    "section_of",
    "subject_rules_option",
    "tls_option",
    "topology_document",
]

# One server needs none of these.
__getattr__ = lazy_names(
    __name__,
    {
        "TopologyFile": "topology_file",
        "explain_topology": "explain",
        "open_topology": "topology_file",
        "reach_url": "reach",
        "read_topology": "topology_file",
        "says_host": "reach",
        "topology_document": "explain",
    },
)
