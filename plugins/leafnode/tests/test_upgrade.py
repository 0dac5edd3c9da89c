"""The upgrade of a connection with a hub: what it says, and what it makes of answers."""

from __future__ import annotations

import pytest
from framework_leafnode.upgrade import HubUpgrade
from framework_leafnode.url import parse_hub_url

from framework.spec import Admitted, TurnedAway, WebSocketFrames
from framework.wire.websocket import DEFLATE_TERMS, accept_key

KEY = b"0123456789abcdef"
TEXT = "MDEyMzQ1Njc4OWFiY2RlZg=="


def upgrade(
    url: str = "ws://hub:80", *, compresses: bool = False, masks: bool = True
) -> HubUpgrade:
    return HubUpgrade(parse_hub_url(url), KEY, compresses=compresses, masks=masks)


def answer(*more: str, status: str = "101 Switching Protocols", accept: str = "") -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        "Upgrade: WebSocket",
        "Connection: upgrade",
        f"Sec-WebSocket-Accept: {accept or accept_key(TEXT)}",
    ]
    return "\r\n".join([*lines, *more, "", ""]).encode()


def test_what_is_said_first() -> None:
    said = upgrade("wss://user:secret@hub:443/a/b/", compresses=True, masks=False).begin().decode()
    first, *lines = said.split("\r\n")

    assert first == "GET /a/b/leafnode HTTP/1.1"
    assert lines == [
        "Host: hub:443",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {TEXT}",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Extensions: {DEFLATE_TERMS}",
        "Nats-No-Masking: true",
        "",
        "",
    ]


def test_an_answer_may_come_in_any_pieces_and_frames_behind_it() -> None:
    said = answer() + b"\x82\x04INFO"
    for size in (1, 3, 50, 1000):
        machine = upgrade()
        machine.begin()
        steps = [machine.receive(said[at : at + size]) for at in range(0, len(said), size)]
        step = next(it for it in steps if it is not None)

        assert isinstance(step, Admitted)
        assert step.stages == (WebSocketFrames(is_masked=False, masks=True),)
        if size == 1000:
            assert step.left == b"\x82\x04INFO"


@pytest.mark.parametrize(
    ("asked", "said", "frames"),
    [
        ({}, [], WebSocketFrames(is_masked=False, masks=True)),
        ({"masks": False}, [], WebSocketFrames(is_masked=False, masks=True)),
        (
            {"masks": False},
            ["Nats-No-Masking: true"],
            WebSocketFrames(is_masked=False, masks=False),
        ),
        ({"compresses": True}, [], WebSocketFrames(is_masked=False, masks=True)),
        (
            {"compresses": True},
            [f"Sec-WebSocket-Extensions: {DEFLATE_TERMS}"],
            WebSocketFrames(is_compressed=True, is_masked=False, masks=True),
        ),
    ],
)
def test_what_is_agreed_on(asked: dict[str, bool], said: list[str], frames: object) -> None:
    machine = upgrade(**asked)
    machine.begin()
    step = machine.receive(answer(*said))

    assert isinstance(step, Admitted)
    assert step.stages == (frames,)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (answer(accept="x"), "invalid websocket connection"),
        (answer(status="200 OK"), "invalid websocket connection: 200"),
        (answer(status="403 Forbidden"), "invalid websocket connection: 403"),
        (b"INFO {}\r\n\r\n", "invalid websocket connection: illegal status line"),
        (b"HTTP/1.1 101 x\r\nX: " + b"y" * 20_000, "invalid websocket connection: "),
        (
            answer("Sec-WebSocket-Extensions: permessage-deflate"),
            "compression negotiation error",
        ),
    ],
)
def test_an_answer_that_is_none(said: bytes, problem: str) -> None:
    machine = upgrade(compresses=True)
    machine.begin()
    step = machine.receive(said)

    assert isinstance(step, TurnedAway)
    assert step.problem.startswith(problem)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ws://a", "ws://a:7422"),
        ("wss://u:p@a:443/x/y", "wss://u:xxxxx@a:443/x/y"),
        ("ws://[::1]/x", "ws://[::1]:7422/x"),
        ("nats-leaf://a/", "nats-leaf://a:7422"),
        ("a:1", "nats-leaf://a:1"),
    ],
)
def test_urls_of_hubs(text: str, shown: str) -> None:
    assert str(parse_hub_url(text)) == shown


@pytest.mark.parametrize("text", ["nats-leaf://a/x", "http://a", "ws://a?x=1"])
def test_urls_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_hub_url(text)
