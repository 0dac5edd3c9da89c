"""Messages from one cluster to another by gateways: ours beside nats-server, same topology.

    python -m bench.gateways [--rounds 5] [--only "1 KiB"]
    python -m bench.interest --gateways

As `bench.routes`, with two clusters of one server each: publishers in the first, subscribers in the
second.
"""

from __future__ import annotations

from bench.clusters import start_supercluster
from bench.routes import run

if __name__ == "__main__":
    run(__doc__, start_supercluster)
