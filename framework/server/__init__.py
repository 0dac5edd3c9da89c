"""One server: start, stop, reload, clients, accounts, logs. Messages go through the data plane."""

from __future__ import annotations

from framework.server.listening import ListenError
from framework.server.logging.logs import Logs, LogSettings
from framework.server.reload import ReloadRefused
from framework.server.running import run_server
from framework.server.server import Server

__all__ = ["ListenError", "LogSettings", "Logs", "ReloadRefused", "Server", "run_server"]
