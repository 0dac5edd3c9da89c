"""Streams that cross accounts at a hub, or at a leaf node, and then the link between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.testing import OURS
from tests.interop.leafnodes import Star
from tests.interop.mixtures import parameters

if TYPE_CHECKING:
    from framework.testing import Fleet

REAL = "2.15.2"
PAIRS = [(OURS, OURS), (OURS, REAL), (REAL, OURS), (REAL, REAL)]
IMPORTS = """
accounts {
  A { users [ { user: a, password: x } ]
      exports [ { stream: "out.>" }, { stream: "deep.>" } ] }
  B { users [ { user: b, password: x } ]
      imports [ { stream: { account: A, subject: "out.>" }, prefix: "from" }
                { stream: { account: A, subject: "deep.>" } } ] }
}
"""


@pytest.fixture(params=parameters(PAIRS))
def kinds(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.mark.parametrize("end", ["hub", "leaf0"])
def test_a_stream_of_another_account_crosses_once(
    kinds: tuple[str, str], fleet: Fleet, end: str
) -> None:
    """The account that imports is at one end; who hears is at the other one."""
    hub, leaf = kinds
    far = "leaf0" if end == "hub" else "hub"
    remote = "" if end == "hub" else "account: B"
    login = "b:x@" if end == "hub" else ""
    with (
        Star(fleet, hub, [leaf], more={end: IMPORTS}, login=login, remote=remote) as star,
        star.client(far, b"from.out.* 1", b"from.out.a 2", b"deep.> q 3", b"end 9") as hearing,
        star.client(end, user="a", **{"pass": "x"}) as publisher,
        star.client(end, user="b", **{"pass": "x"}) as importer,
    ):
        importer.await_interest(b"end")
        hearing.read_until(b"MSG end")
        publisher.send(b"PUB out.a 1\r\n1\r\nPUB out.b 1\r\n2\r\nPUB deep.c.d 1\r\n3\r\n")
        publisher.flush()
        importer.send(b"PUB end 4\r\nover\r\n")
        got = []
        while not got or got[-1][1] != b"over":
            it = hearing.read()
            if it.verb == b"MSG" and it.body:
                got.append((it.subject, it.body, it.line.split()[2]))

        assert sorted(got) == [
            (b"deep.c.d", b"3", b"3"),
            (b"end", b"over", b"9"),
            (b"from.out.a", b"1", b"1"),
            (b"from.out.a", b"1", b"2"),
            (b"from.out.b", b"2", b"1"),
        ]
