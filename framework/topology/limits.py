"""Limits of topology files, so that a typing error stays an error message."""

from __future__ import annotations

__all__ = [
    "FILE_BYTES_MAX",
    "INCLUDED_FILES_MAX",
    "INCLUDE_DEPTH_MAX",
    "NESTING_MAX",
    "PORT_MAX",
    "SERVERS_MAX",
]

FILE_BYTES_MAX = 64 * 1024 * 1024
"""Bytes of one file; 3,000 users take 280 KB."""

NESTING_MAX = 100
"""Blocks and lists within each other; each takes a few frames of Python's 1,000."""

INCLUDE_DEPTH_MAX = 16
"""Files that include each other in a chain, variables of the environment counted like files."""

INCLUDED_FILES_MAX = 1_000
"""Files that one file may pull in altogether; a chain of doubling includes ends here."""

SERVERS_MAX = 256
"""Servers of one topology; each is a process."""

PORT_MAX = 65_535
