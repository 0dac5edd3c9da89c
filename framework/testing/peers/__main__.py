"""Brings all peers: `python -m framework.testing.peers`."""

from __future__ import annotations

import sys

from framework.testing.errors import PeerMissingError
from framework.testing.peers import PEERS, bring, version_text


def main() -> int:
    """Bring all peers and print where they are and what they say they are."""
    missing = 0
    for name in PEERS:
        try:
            path = bring(name)
        except PeerMissingError as error:
            missing += 1
            print(error, file=sys.stderr)  # noqa: T201 - a command's output
        else:
            print(f"{path}: {version_text(name, path)}")  # noqa: T201 - a command's output
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
