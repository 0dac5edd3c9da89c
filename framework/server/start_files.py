"""Check the files that a start reads and writes, without starting: for `-t` and `framework check`.

Certificates and keys are loaded as a start loads them; nothing is created or changed.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, cast

from framework.server.listening import encoded_host
from framework.server.tls import TlsError, placed_tls_error
from framework.server.tls.terms import KindTerms
from framework.spec import tls_settings
from framework.topology import Kind, TopologyError
from framework.topology.server_config import walk_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.topology import ServerConfig


def start_file_errors(config: ServerConfig) -> Iterator[TopologyError]:
    """Yield why a start would fail by its files, each with the place that names the file."""
    for path, option, block in walk_values(config):
        if option.name != "tls" or option.kind is not Kind.BLOCK:
            continue
        settings = tls_settings(cast("Mapping[str, object] | None", block), path=path)
        try:
            if settings:
                KindTerms(settings)
        except TlsError as error:
            yield placed_tls_error(error, config)
    for name, problem in (
        ("logfile", _file_problem(config.values["logfile"])),
        ("pid_file", _file_problem(config.values["pid_file"])),
        ("ports_file_dir", _folder_problem(config.values["ports_file_dir"])),
    ):
        if problem:
            yield TopologyError(config.source(name), f"`{name}`: {problem}")


def is_of_this_machine(config: ServerConfig) -> bool:
    """Return whether a server can run here: its clients' address is of this machine, or none."""
    host = str(config.values["host"])
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            encoded_host(host), 0, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as sock:
            sock.bind(address)
    except socket.gaierror:
        return False
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True


def _file_problem(name: object) -> str | None:
    """Return why a file can't be written; None: it can, or none is named."""
    if not name:
        return None
    path = Path(cast("str", name))
    if path.is_dir():
        return f"{path} is a folder; name a file"
    if path.exists():
        can_write = os.access(path, os.W_OK)
        return None if can_write else f"{path} can't be written; let the server write it"
    return _folder_problem(str(path.parent))


def _folder_problem(name: object) -> str | None:
    """Return why files can't be made in a folder; None: they can, or none is named."""
    if not name:
        return None
    folder = Path(cast("str", name))
    if not folder.is_dir():
        return f"there is no folder {folder}; create it"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"no file can be made in {folder}; let the server write there"
    return None
