"""Servers that are joined in some way, by name; what can be asked of all such tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from framework.testing import RawClient
    from framework.testing.server_process import ServerProcess


class Joined:
    """Servers by name; a subclass starts them."""

    def __init__(self) -> None:
        self.servers: dict[str, ServerProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers.values():
            server.stop()

    @property
    def running(self) -> list[str]:
        """Return the names of the servers that run."""
        return [name for name, server in self.servers.items() if server.is_running()]

    def client(self, name: str, /, *subscriptions: bytes, **options: object) -> RawClient:
        """Return a client that has logged in, whose subscriptions its server has."""
        client = self.servers[name].client()
        client.log_in(**{"no_responders": True, "headers": True, **options})
        client.send(b"".join(b"SUB %b\r\n" % it for it in subscriptions))
        client.flush()
        return client

    def check(
        self, publishing: str, subscribing: str, *, user: str = "", to: str = "", by: str = ""
    ) -> None:
        """Send a message from one server to another, once the interest there is known.

        Args:
            publishing: Name of the server of who publishes.
            subscribing: The same of who subscribes.
            user: Whom both log in as, with the password `x`; empty: nobody.
            to: Who subscribes, if it is not `user`.
            by: Who publishes.
        """
        subject = f"check.{publishing}.{subscribing}".encode()
        there, here = ({"user": it, "pass": "x"} if it else {} for it in (to or user, by or user))
        with (
            self.client(subscribing, subject + b".> 1", **there) as subscriber,
            self.client(publishing, **here) as publisher,
        ):
            publisher.await_interest(subject + b".try")
            publisher.send(b"PUB %b.it 2\r\nhi\r\n" % subject)

            assert subscriber.read_until(b"MSG " + subject + b".it")[-1].body == b"hi"
