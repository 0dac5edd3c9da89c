"""The system account: what servers tell each other and operators, and what they answer."""

from framework.server.system.system_account import SystemAccount

__all__ = ["SystemAccount"]
