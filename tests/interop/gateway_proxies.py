"""Two clusters whose gateways pass proxies, which see what crosses."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from framework.testing import TcpProxy
from tests.interop.gateways import Supercluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from framework.testing import Fleet


@contextmanager
def proxied(
    fleet: Fleet, kinds: tuple[str, str], known: Mapping[str, tuple[str, ...]] | None = None
) -> Iterator[tuple[Supercluster, TcpProxy, TcpProxy]]:
    """Yield two clusters that know each other by proxies, with those on the way to A and to B."""
    with TcpProxy() as to_a, TcpProxy() as to_b:
        advertised = {"A": to_a.port, "B": to_b.port}
        with Supercluster(
            fleet, [[it] for it in kinds], known=known, advertised=advertised, order=[]
        ) as both:
            to_a.target_port, to_b.target_port = both.ports["A0"], both.ports["B0"]
            for name in both.kinds:
                both.start(name)
            both.check_all()
            yield both, to_a, to_b


def crossed(proxy: TcpProxy) -> list[bytes]:
    """Return the lines of messages that came to a proxy, but for those of `$SYS`."""
    dialed = b"".join(bytes(it.dialed) for it in proxy.connections)
    lines = re.findall(rb"[RH]MSG [^\r]+", dialed)
    return [it for it in lines if b" $SYS " not in it]
