"""The PID file and the ports file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from framework.server.listening import joined_address

if TYPE_CHECKING:
    from collections.abc import Mapping


class RunFiles:
    """Write the PID file and the ports file at start, and remove them at stop.

    Args:
        pid_file: Path; empty for none.
        ports_file_dir: Folder of `nats-server_<pid>.ports`; empty for none.
    """

    def __init__(self, *, pid_file: str, ports_file_dir: str) -> None:
        self._pid_file = Path(pid_file) if pid_file else None
        self._ports_file = (
            Path(ports_file_dir) / f"nats-server_{os.getpid()}.ports" if ports_file_dir else None
        )

    @property
    def paths(self) -> tuple[Path | None, Path | None]:
        """Return where they are; two that are equal need not be written again."""
        return self._pid_file, self._ports_file

    def write(self, addresses: Mapping[str, tuple[str, str, int] | None]) -> None:
        """Write both files.

        Args:
            addresses: `nats`, `cluster`, `monitoring` to (scheme, address, port), or None; a
                wildcard stands for the addresses of all interfaces.

        Raises:
            OSError: One can't be written; its name is in the error.
        """
        if self._pid_file:
            self._pid_file.write_text(str(os.getpid()))
        if self._ports_file:
            urls = {
                name: _urls(*address) for name, address in addresses.items() if address is not None
            }
            # Whole or not at all: who polls for it reads it as soon as it is there.
            draft = self._ports_file.with_suffix(".ports_draft")
            draft.write_text(json.dumps(urls, separators=(",", ":")))
            draft.replace(self._ports_file)

    def remove(self) -> None:
        """Remove the files; missing ones are ignored."""
        for path in (self._pid_file, self._ports_file):
            if path:
                path.unlink(missing_ok=True)


def _urls(scheme: str, address: str, port: int) -> list[str]:
    """Return the URLs of a listener. Source: nats-server `server.go`, `resolveHostPorts`."""
    from framework.server.interfaces import (  # noqa: PLC0415 -- few have a ports file
        interface_addresses,
        is_wildcard,
    )

    addresses = interface_addresses() if is_wildcard(address) else (address,)
    return [f"{scheme}://{joined_address(each, port)}" for each in addresses]
