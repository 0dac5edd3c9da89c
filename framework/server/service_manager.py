"""Tell a service manager, such as systemd, when the server is ready, reloads and stops.

Source: systemd `sd_notify(3)`, "Well-known assignments" and "Notes".
"""

from __future__ import annotations

import os
import socket
import time
from typing import Final

from framework.errors import FrameworkError

_SOCKET_VARIABLE: Final = "NOTIFY_SOCKET"

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


class NotifyError(FrameworkError):
    """The service manager can't be told, and would wait in vain."""


def reloading() -> str:
    """Return what begins a reload; `READY` ends it."""
    now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    return f"RELOADING=1\nMONOTONIC_USEC={now_us}"


def notify(state: str) -> None:
    """Send a state, if a service manager waits for it.

    Raises:
        NotifyError: It does, but its socket can't be reached.
    """
    address = os.environ.get(_SOCKET_VARIABLE)
    if not address:
        return
    if address.startswith("@"):  # the abstract namespace of Linux
        address = f"\0{address[1:]}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(state.encode(), address)
    except (OSError, ValueError) as error:
        problem = f"{_SOCKET_VARIABLE}: the service manager can't be told: {error}"
        raise NotifyError(problem) from None
