"""Find the plugin that has an option or flag of nats-server which the core does not have.

With it, `cluster { }` on a server without the route plugin is not called a typing mistake.
"""

from __future__ import annotations

__all__ = ["JOINING_PLUGIN", "explain_foreign_flag", "explain_foreign_key"]

JOINING_PLUGIN = "route"
"""Whose planner connects the servers of a cluster."""

_KEYS = {
    "route": "cluster",
    "auth": (
        "accounts authorization mappings maps no_auth_user default_sentinel system_account system"
        " no_system_account no_system no_sys_acc operator operators roots root root_operators"
        " root_operator resolver account_resolver accounts_resolver resolver_tls"
        " resolver_preload resolver_pinned_accounts trusted trusted_keys proxies"
    ),
}
_FLAGS = {
    "route": "routes cluster cluster_listen cluster_name cluster_advertise no_advertise"
    " connect_retries",
    "auth": "user username pass auth",
}
_KEY_OWNERS = {key: plugin for plugin, keys in _KEYS.items() for key in keys.split()}
_FLAG_OWNERS = {flag: plugin for plugin, flags in _FLAGS.items() for flag in flags.split()}


def explain_foreign_key(key: str) -> str | None:
    """Say which plugin owns a key of nats-server; None if none does."""
    owner = _KEY_OWNERS.get(key)
    return f"`{key}` needs the {owner} plugin, which is not loaded" if owner else None


def explain_foreign_flag(flag: str) -> str | None:
    """Say which plugin owns a flag of nats-server, given without dashes; None if none does."""
    owner = _FLAG_OWNERS.get(flag)
    return f"`-{flag}` needs the {owner} plugin, which is not loaded" if owner else None
