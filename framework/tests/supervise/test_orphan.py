"""A server does not outlive its supervisor."""

from __future__ import annotations

import queue
import signal
import socket
import subprocess
from typing import TYPE_CHECKING

from framework.supervise.orphan import stop_with_supervisor

if TYPE_CHECKING:
    from framework.tests.supervise.conftest import FakeCommand


def test_it_stops_kindly_and_then_is_killed() -> None:
    ours, theirs = socket.socketpair()
    signals: queue.SimpleQueue[int] = queue.SimpleQueue()
    with theirs:
        theirs.settimeout(0)
        thread = stop_with_supervisor(theirs.fileno(), deadline_s=0, signal_self=signals.put)
        ours.sendall(b"words of a later version")
        assert signals.empty()
        ours.close()
        thread.join()

    assert [signals.get(), signals.get()] == [signal.SIGTERM, signal.SIGKILL]


def test_a_real_process_ends_when_its_supervisor_is_killed(fake: FakeCommand) -> None:
    ours, theirs = socket.socketpair()
    arguments = (*fake("orphan").arguments, "--status-fd", str(theirs.fileno()))
    process = subprocess.Popen(arguments, pass_fds=(theirs.fileno(),))
    theirs.close()
    assert b"ready" in ours.recv(4096)
    ours.close()

    assert process.wait() == -signal.SIGTERM
