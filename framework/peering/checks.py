"""What plugins have against a server that wants a link, by a hook that links of a kind offer."""

from __future__ import annotations

from collections.abc import Callable

from framework.errors import PluginError
from framework.spec import ServerContext


def collect_checks(server: ServerContext, hook: str, **offered: object) -> Callable[..., str]:
    """Return what says why a server may have no link, by the words of the first plugin; or empty.

    It takes what each plugin's function takes. An error of one is logged, and refuses nobody.

    Args:
        server: Whose plugins are asked.
        hook: Returns such a function, or None.
        offered: Further arguments of the hook.

    Raises:
        PluginError: A plugin failed, or returned what can't be called.
    """
    checks: list[tuple[str, Callable[..., object]]] = []
    for plugin, found in server.hooks.describe(hook, server=server, **offered):
        if not callable(found):
            raise PluginError(plugin, f"{hook} must return a function, not {found!r:.80}")
        checks.append((plugin, found))

    def refused(*peer: object) -> str:
        for plugin, check in checks:
            try:
                if text := check(*peer):
                    return str(text)
            except Exception:
                words = "Plugin {plugin} failed in what it returned for {hook}"
                server.log.exception(words, plugin=plugin, hook=hook)
        return ""

    return refused
