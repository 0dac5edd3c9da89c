"""Where the processes `framework` and `nats-server` begin and end; also `python -m framework`.

They listen to signals from the first lines on, before anything that takes time is imported, and
are gone as soon as their work is done.
"""

from __future__ import annotations

import atexit
import os
import sys

from framework.held_signals import hold_signals

TYPE_CHECKING = False  # `typing` takes 2 ms
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command `framework` that this process was started as, and end the process."""
    hold_signals()
    from framework.cli import main as run  # noqa: PLC0415 -- after `hold_signals`

    _end(run())


def nats_server() -> NoReturn:
    """Run the command `nats-server` that this process was started as, and end the process."""
    hold_signals()
    from framework.cli import nats_server_main as run  # noqa: PLC0415 -- after `hold_signals`

    _end(run())


def _end(exit_status: int) -> NoReturn:
    """End the process, without the 10 ms in which Python takes itself to pieces.

    What was registered with `atexit` is called; where a thread is to be waited for, Python does it.
    """
    from framework.process_end import ends_at_once  # noqa: PLC0415 -- after `hold_signals`

    if not ends_at_once():
        sys.exit(exit_status)
    atexit._run_exitfuncs()  # noqa: SLF001 -- there is no other way to call them
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        exit_status = exit_status or 1
    os._exit(exit_status)


if __name__ == "__main__":
    main()
