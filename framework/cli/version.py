"""`nats-server -v`: print the version as nats-server does."""

from __future__ import annotations

import sys

from framework.cli.errors import EXIT_OK
from framework.wire.version import NATS_VERSION


def print_server_version() -> int:
    """Print the version of nats-server that our behaviour is that of."""
    sys.stdout.write(f"nats-server: v{NATS_VERSION}\n")
    return EXIT_OK
