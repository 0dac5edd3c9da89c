"""The placement policy that a plugin brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from framework.errors import PluginError

if TYPE_CHECKING:
    from framework.spec import ServerContext
    from framework_jetstream.placement.records import PlacementPolicy

HOOK: Final = "framework_jetstream_placement"


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
    return cast("PlacementPolicy", answers[0][1]) if answers else None
