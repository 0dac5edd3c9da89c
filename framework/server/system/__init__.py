"""The system account: events, `$SYS` requests, statistics of servers."""

from framework.server.system.system_account import SystemAccount

__all__ = ["SystemAccount"]
