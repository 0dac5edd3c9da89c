"""A plugin for tests: a protocol of its own on its own port, and leaf nodes in their simplest form.

Nothing of the core knows either kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.actors import Component
from framework.hookspecs import hookimpl
from framework.spec import (
    LEAF_DIALECT,
    ComponentSpec,
    Dialect,
    Greeting,
    GroupClass,
    KindNames,
    KindTraits,
    LinkEvents,
    LinkKind,
    LinkKindSpec,
    ListenerSpec,
    PeerTerms,
    ReservedPrefix,
    Scope,
    VerbOperation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.spec import ServerContext

LINES = LinkKind.add(
    "LINES", KindNames(noun="lines", counters="lines", title="Lines", connection_id="nid")
)


@hookimpl
def framework_link_kinds() -> Iterator[LinkKindSpec]:
    lines = Dialect(verbs={b"SAY": VerbOperation.PUBLISH, b"HEAR": VerbOperation.SUBSCRIBE})
    yield LinkKindSpec(
        kind=LINES,
        traits=KindTraits(dialect=lines, is_user=True, may_be_anonymous=True, stalls=True),
        reserved=(ReservedPrefix(prefix=b"lines.", no_publish=True),),
    )
    yield LinkKindSpec(
        kind=LinkKind.LEAF,
        traits=KindTraits(
            dialect=LEAF_DIALECT, scope=Scope.LEAF, group_class=GroupClass.IF_NONE, enters=True
        ),
    )


class Owner(Component):
    """Let every link in that says CONNECT."""

    def __init__(self, server: ServerContext) -> None:
        super().__init__()
        self._plane = server.plane

    @override
    def on_receive(self, message: object) -> object:
        if isinstance(message, LinkEvents):
            for event in message.events:
                if isinstance(event, Greeting) and event.kind is LinkKind.LEAF:
                    self._plane.register_peer(event.link, PeerTerms(accounts=[0]))
        return None


@hookimpl
def framework_components(server: ServerContext) -> Iterator[ComponentSpec]:
    yield ComponentSpec(name="lines", factory=lambda _: (Owner, {"server": server}))


@hookimpl
def framework_listeners() -> Iterator[ListenerSpec]:
    for kind in (LINES, LinkKind.LEAF):
        yield ListenerSpec(kind=kind, host="127.0.0.1", port=-1, owner="lines")
