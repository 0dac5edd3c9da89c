from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from framework.actors import (
    ActorSystem,
    AsyncioDispatcher,
    Dispatcher,
    Reply,
    SimulatedDispatcher,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 20.0


@dataclass
class Runtime:
    """One dispatcher with a system on it, used from a thread that is not its own."""

    name: str
    dispatcher: Dispatcher
    system: ActorSystem

    def expect(self) -> Reply[Any]:
        """Return a reply that an actor of the test sets, and the test waits for."""
        return Reply(self.dispatcher)

    def get(self, reply: Reply[Any]) -> Any:
        return reply.get(timeout=PATIENCE_S)


@pytest.fixture(params=["asyncio", "simulated"])
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    dispatcher: Any
    loop = asyncio.new_event_loop() if request.param == "asyncio" else None
    if loop is not None:
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        dispatcher = AsyncioDispatcher(loop)
    else:
        dispatcher = SimulatedDispatcher(seed=7)
    system = ActorSystem(dispatcher, name="test")
    yield Runtime(request.param, dispatcher, system)

    assert system.stop(PATIENCE_S).get(timeout=PATIENCE_S) == ()
    assert system.registry.get_all() == []
    assert dispatcher.timer_count == 0
    dispatcher.close()
    if loop is not None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def simulated() -> SimulatedDispatcher:
    return SimulatedDispatcher(seed=1)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Return what hears all that actors log."""
    caplog.set_level("INFO", "framework.actors")
    return caplog
