"""The server that streams live in, as far as their actors need to know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.actors import Reply
    from framework.spec import JetStreamLimits
    from framework_jetstream.config import JetStreamConfig


class Host(Struct, kw_only=True):
    """A server."""

    name: str
    server_id: str
    peer: str = ""
    """This server's id in groups."""
    config: JetStreamConfig
    """A reload changes what of it can be changed."""
    account_number: Callable[[str], int]
    """The number of an account in the plane; KeyError: it is not known."""
    limits: Callable[[str], Mapping[str, JetStreamLimits] | None]
    """What an account may store, by tier; None: nothing."""
    system_account: Callable[[], str]
    max_payload: Callable[[], int]
    """Bytes of a message."""
    listens: Callable[[int, str], Reply[bool]]
    """Whether a client here has subscribed to just this subject of an account."""
    answer: Callable[[str, bytes], object] = lambda _subject, _text: None
    """Answers a request that came in somewhere in the cluster."""
    report: Callable[[str], object] = lambda _what: None
    """Told what operators have to know."""
    rekeyed: Callable[[], bool] = lambda: True
    """Says, if it is so, that no file is left which was not written with the key of now."""
    retire: Callable[[str, str, str, int], object] = lambda _account, _stream, _name, _created: None
    """Lets the meta leader delete a consumer that nobody uses: account, stream, name, created."""
    consumer_count: Callable[[str, str], int | None] = lambda _account, _stream: None
    """How many consumers a stream has on all servers; None: streams are this server's alone."""
    restored: Callable[[Any], object] = lambda _restored: None
    """Lets the meta leader make a stream of an archive, a `Restored`; told again and again."""
    is_current: Callable[[], bool] = lambda: False
    """Whether `assigned` knows what is newest."""
    cluster_of: Callable[..., Any] = lambda _name, _told, _since_ns=0: None
    """Who has a stream or consumer, as `ClusterInfo`, by account, stream and consumer, what the
    engine says of its group, and since when this server leads it (`ClusterView.describe`); None:
    streams are this server's alone."""

    server_name: Callable[[str], str] = lambda peer: peer
    """Returns the name of a server by its id in groups."""
    assigned: Callable[[tuple[str, str, str]], Any] = lambda _name: None
    """What the meta group says of a stream or consumer, as an `Assignment`; None: nothing
    that is known here now."""
    moved: Callable[[tuple[str, str, str], int, tuple[str, ...]], object] = (
        lambda _name, _created_ns, _members: None
    )
    """Told that a stream or consumer, and which of that name, has the members that it should."""

    def follow(self, config: JetStreamConfig) -> None:
        """Put a reloaded configuration in force, as far as that goes without a new start."""
        self.config = replace(self.config, limits=config.limits, strict=config.strict)

    @property
    def is_strict(self) -> bool:
        """Whether fields that nobody knows are errors in requests."""
        return self.config.strict
