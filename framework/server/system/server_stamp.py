"""The `server` field of events and answers: who sent them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from framework.server.system.outbox import json_text
from framework.spec.formats import time_text
from framework.wire.event_ids import DIGITS
from framework.wire.version import NATS_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import ServerContext

_HASH_CHARS: Final = 8
_HAS_JETSTREAM: Final = 1
"""A bit of `flags`. Source: nats-server `events.go`, `JetStreamEnabled`."""


class ServerTraits(Struct, frozen=True, kw_only=True):
    """Name, cluster, tags and version of a server; a reload may change them."""

    host: str
    """As clients are told."""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


class ServerStamp:
    """Build the `server` field; each has a higher `seq` than the last.

    Args:
        server: Who it is.
        traits: Tells the rest of it.
        wall_ns: Tells the time, in nanoseconds since 1970.

    Source: nats-server `events.go`, `ServerInfo`.
    """

    def __init__(
        self,
        server: ServerContext,
        *,
        traits: Callable[[], ServerTraits],
        wall_ns: Callable[[], int],
    ) -> None:
        self._server = server
        self._traits = traits
        self._seq = 0
        self._written: tuple[tuple[object, ...], str] = ((), "")
        """What the beginning of the text was made of, and that."""
        self.wall_ns = wall_ns

    @property
    def server(self) -> ServerContext:
        """The server."""
        return self._server

    @property
    def traits(self) -> ServerTraits:
        """What may be filtered by, besides the names."""
        return self._traits()

    def make(self) -> dict[str, object]:
        """Return the next one."""
        self._seq += 1
        return {**self._fixed(), "seq": self._seq, "time": time_text(self.wall_ns())}

    def write(self) -> str:
        """Return the next one as JSON text. Cost: a tenth of that of `make` and `json.dumps`."""
        self._seq += 1
        accounts = self._server.accounts
        source = (self._traits(), self._server.cluster_name, accounts.jetstream_domain)
        if self._written[0] != source:
            self._written = (source, json_text(self._fixed())[:-1])
        return f'{self._written[1]},"seq":{self._seq},"time":"{time_text(self.wall_ns())}"}}'

    def _fixed(self) -> dict[str, object]:
        """Return the members that do not change from one to the next."""
        traits = self._traits()
        domain = self._server.accounts.jetstream_domain
        optional = {
            "cluster": self._server.cluster_name,
            "domain": domain,
            "ver": NATS_VERSION,
            "tags": list(traits.tags),
            "metadata": dict(traits.metadata),
        }
        return {
            "name": self._server.name,
            "host": traits.host,
            "id": self._server.server_id,
            **{name: value for name, value in optional.items() if value},
            "jetstream": domain is not None,
            "flags": 0 if domain is None else _HAS_JETSTREAM,
        }

    def make_identity(self) -> dict[str, object]:
        """Return the short form, without a number."""
        return {
            "name": self._server.name,
            "host": self._traits().host,
            "id": self._server.server_id,
        }


def node_of(server_name: str) -> str:
    """Return the 8 characters by which other servers address a server in subjects.

    Source: nats-server `events.go`, `getHashSize`.
    """
    digest = hashlib.sha256(server_name.encode()).digest()[:_HASH_CHARS]
    return "".join(DIGITS[byte % len(DIGITS)] for byte in digest)
