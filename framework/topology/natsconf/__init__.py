"""Parse nats-server's configuration files.

It knows nothing of options. What it accepts and what it makes of it equals nats-server
2.15.2, with its quirks; where it differs on purpose stands in `parser.py`.
"""

from __future__ import annotations

from framework.topology.natsconf.loading import load_conf, parse_conf

__all__ = ["load_conf", "parse_conf"]
