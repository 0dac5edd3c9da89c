"""Failures of components: whose they are, and which of them refuse the start."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from framework.actors import ChildFailedError
from framework.server.limits import SLOW_TURNS_LOGGED_EVERY_NS

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from framework.actors import ActorRef
    from framework.plugins import PluginRegistry


class ComponentFailures:
    """Log what components fail with, and name the plugin that each belongs to.

    Args:
        plugins: Know whose a component is.
        log: The server's logger.
        now_ns: Monotonic.
    """

    def __init__(
        self,
        plugins: PluginRegistry,
        *,
        log: FilteringBoundLogger,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._plugins = plugins
        self._log = log
        self._in_start: list[tuple[str, BaseException]] = []
        self._now_ns = now_ns
        self._slow_logged_ns: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        """By component, its children included."""

    def receive(self, ref: ActorRef[Any], error: BaseException, in_start: bool) -> None:  # noqa: FBT001 - as `ActorSystem` reports
        """Take note of a failure; supervision decides what follows."""
        name = _component_of(ref.name)
        self.counts[name] += 1
        if in_start:
            self._in_start.append((name, error))
        owner = self._plugins.owner_of("component", name)
        text = "Component {component} of plugin {plugin} failed" if owner else "actor failed"
        fields = {"plugin": owner} if owner else {}
        self._log.error(text, component=ref.name, exc_info=error, **fields)

    def receive_slow(self, actor: str, held_ns: int) -> None:
        """Log a turn that held up the control loop; of one component, only now and then."""
        name, now_ns = _component_of(actor), self._now_ns()
        logged_ns = self._slow_logged_ns.get(name)
        if logged_ns is not None and now_ns - logged_ns < SLOW_TURNS_LOGGED_EVERY_NS:
            return
        self._slow_logged_ns[name] = now_ns
        owner = self._plugins.owner_of("component", name)
        text = "Component {component} held up the server for {detail}"
        if owner:
            text = "Component {component} of plugin {plugin} held up the server for {detail}"
        fields = {"plugin": owner} if owner else {}
        detail = f"{held_ns // 1_000_000} ms"
        self._log.warning(text, component=actor, detail=detail, **fields)

    def refuse_start(self) -> None:
        """Refuse to go on when a component has failed in its `on_start`.

        Raises:
            PluginError: It is a plugin's.
        """
        for name, error in self._in_start:
            raise self._plugins.blame("component", name, error, part="on_start")
        self._in_start.clear()

    def blame(self, error: BaseException) -> BaseException:
        """Return a failure for good as the fault of the plugin whose component has failed."""
        name = ""
        while isinstance(error, ChildFailedError) and error.__cause__:
            name, error = _component_of(error.name), error.__cause__
        return self._plugins.blame("component", name, error)


def _component_of(actor: str) -> str:
    """Return the name of the component that an actor is, or is a child of."""
    return actor.partition("/")[0]
