"""The `framework` command, and `nats-server`, its other name for one server.

Each command imports what it needs when it runs, so that `nats-server -v` costs next to nothing.
"""

from __future__ import annotations

from framework.cli.main import main, nats_server_main

__all__ = ["main", "nats_server_main"]
