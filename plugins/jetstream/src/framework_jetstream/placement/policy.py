"""The placement policy that a plugin brings; its faults are its own, not the meta leader's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from framework.errors import PluginError
from framework_jetstream.placement.records import NoPlacement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.spec import ServerContext
    from framework_jetstream.placement.records import (
        PlacementPolicy,
        PlacementRequest,
        PlacementServer,
    )

HOOK: Final = "framework_jetstream_placement"


class GuardedPolicy:
    """A policy whose failures refuse what was to be placed, with the name of its plugin.

    Args:
        plugin: Who brought it.
        policy: It.
        report: Is told each failure.
    """

    def __init__(self, plugin: str, policy: PlacementPolicy, report: Callable[[str], None]) -> None:
        self._plugin = plugin
        self._policy = policy
        self._report = report

    def order(
        self,
        request: PlacementRequest,
        candidates: Sequence[PlacementServer],
        existing: Sequence[PlacementServer],
    ) -> Sequence[PlacementServer]:
        """Return what the policy does, each server once.

        Raises:
            NoPlacement: The policy says so, or it failed.
        """
        try:
            chosen = self._policy.order(request, candidates, existing)
            return list({it.peer: it for it in chosen}.values())
        except NoPlacement:
            raise
        except Exception as error:
            problem = f"placement policy of plugin {self._plugin} failed"
            self._report(f"{problem}: {type(error).__name__}: {error}")
            raise NoPlacement(problem) from error


def placement_policy(server: ServerContext) -> PlacementPolicy | None:
    """Return the policy of the one plugin that has one; None: nats-server's order.

    Raises:
        PluginError: Two have one, one failed, or what one returned can't order servers.
    """
    answers = server.hooks.describe(HOOK, server=server)
    for plugin, policy in answers:
        if not callable(getattr(policy, "order", None)):
            raise PluginError(plugin, f"{HOOK} must return what has `order`, not {policy!r:.80}")
    if len(answers) > 1:
        (first, _), (second, _) = answers[:2]
        problem = f"has a placement policy, and so has {first}: leave out one of them"
        raise PluginError(second, problem)
    if not answers:
        return None
    plugin, policy = answers[0]

    def report(problem: str) -> None:
        server.log.error("{detail}", detail=problem)

    return GuardedPolicy(plugin, cast("PlacementPolicy", policy), report)
