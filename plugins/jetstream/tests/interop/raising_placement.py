"""A placement policy that fails for one stream, as a test plugin."""

from __future__ import annotations

from framework import hookimpl


class Raising:
    """Places as nats-server does, but for the stream `BAD`."""

    def order(self, request, candidates, existing):
        del existing
        if request.stream == "BAD":
            raise RuntimeError("this policy is no good")
        return candidates


@hookimpl
def framework_jetstream_placement(server):
    del server
    return Raising()
