"""WebSocket frames as a stage: what is said in them, and what becomes of bad ones."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from framework.dataplane import Closed, Coding, LinkKind, PeerTerms, PlaneLimits, WebSocketFrames
from framework.testing.websocket import FrameReader, Opcode, deflated, frame_bytes
from framework.tests.dataplane.conftest import Peer, Talk
from framework.wire.closed_state import ClosedState
from framework.wire.s2 import Decoder, encode

if TYPE_CHECKING:
    from framework.dataplane import PlaneStage

PLAIN = WebSocketFrames()
COMPRESSED = WebSocketFrames(is_compressed=True)
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true}\r\n'


@dataclass
class Socket(Peer):
    """A client that speaks WebSocket."""

    reader: FrameReader = field(default_factory=FrameReader)

    def hear(self) -> bytes:
        """Return what messages have brought since the last time."""
        self.reader.feed(self.heard())
        return self.reader.plain()

    def tell(self, plain: bytes) -> bytes:
        """Say something in one frame, and return what comes back."""
        self.say(frame_bytes(plain))
        return self.hear()

    def closed(self) -> tuple[int, bytes]:
        """Return status and text of the close frame."""
        self.hear()
        (frame,) = [it for it in self.reader.frames if it.opcode == Opcode.CLOSE]
        return frame.close_status, frame.payload[2:]


def stranger(talk: Talk, *stages: PlaneStage) -> Socket:
    """Return a client that was greeted, and has said nothing."""
    link = talk.core.open(LinkKind.CLIENT, "::1", 9, accepted=True, stages=stages or (PLAIN,))
    return Socket(talk, link)


def client(talk: Talk, *stages: PlaneStage) -> Socket:
    """Return a client that has logged in."""
    peer = stranger(talk, *stages)
    peer.tell(CONNECT)
    return peer


def reasons(talk: Talk) -> list[tuple[ClosedState, str]]:
    """Return how links have ended."""
    return [(event.reason, event.detail) for event in talk.of(Closed)]


def test_a_client_is_greeted_and_answered_in_frames(talk: Talk) -> None:
    talk.core.set_info(LinkKind.CLIENT, b'{"server_id":"x"}')
    talk.turn()
    peer = stranger(talk)

    assert peer.hear().startswith(b'INFO {"server_id":"x","client_id":')
    assert b"PONG\r\n" == peer.tell(CONNECT + b"PING\r\n")


@pytest.mark.parametrize("count", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_messages_of_any_length_go_both_ways(talk: Talk, count: int) -> None:
    peer, payload = client(talk), random.Random(count).randbytes(count)

    said = peer.tell(b"SUB a 1\r\nPUB a %d\r\n" % count + payload + b"\r\n")

    assert b"MSG a 1 %d\r\n" % count + payload + b"\r\n" == said


@pytest.mark.parametrize("seed", range(40))
def test_frames_may_be_cut_anywhere(talk: Talk, seed: int) -> None:
    """The lines do not end where frames do, nor frames where reads do."""
    rng = random.Random(seed)
    peer, said, expected = client(talk), b"SUB a 1\r\n", b""
    for number in range(30):
        body = b"%d " % number * rng.choice((1, 20, 9_000))
        said += b"PUB a %d\r\n%b\r\n" % (len(body), body)
        expected += b"MSG a 1 %d\r\n%b\r\n" % (len(body), body)
    wire, first = b"", True
    while said:
        part = said[: rng.choice((0, 1, 7, 125, 126, 4_000, 70_000))]
        said = said[len(part) :]
        wire += frame_bytes(part, Opcode.BINARY if first else Opcode.CONTINUATION, final=not said)
        first = False
        if rng.random() < 0.2:
            wire += frame_bytes(b"still there?", Opcode.PING)
    heard = b""
    while wire:
        count = rng.choice((1, 2, 13, 1_000, 300_000))
        peer.say(wire[:count])
        heard += peer.hear()
        wire = wire[count:]

    assert expected == heard
    assert {b"still there?"} >= {frame.payload for frame in peer.reader.frames}
    assert [] == reasons(talk)


def test_small_frames_follow_each_other(talk: Talk) -> None:
    peer = client(talk)
    peer.tell(b"SUB a 1\r\n")

    peer.say(b"".join(frame_bytes(b"PUB a 1\r\n%d\r\n" % (it % 10)) for it in range(5_000)))

    assert b"".join(b"MSG a 1 1\r\n%d\r\n" % (it % 10) for it in range(5_000)) == peer.hear()


def test_a_ping_is_answered_and_a_pong_passed_over(talk: Talk) -> None:
    peer = client(talk)

    peer.say(frame_bytes(b"now", Opcode.PONG) + frame_bytes(b"it", Opcode.PING))
    peer.hear()

    assert [(Opcode.PONG, b"it")] == [(it.opcode, it.payload) for it in peer.reader.frames]


def test_fragments_without_end_hold_nothing(talk: Talk) -> None:
    peer = client(talk)
    peer.say(frame_bytes(b"PI", final=False))
    for _ in range(20):
        for _ in range(10):
            empty = frame_bytes(b"", Opcode.CONTINUATION, final=False) * 1_000
            talk.core.feed(peer.link, empty, talk.now_ns)
        talk.turn()
    (row,) = talk.links(link=peer.link)
    assert 0 == row.pending_bytes
    peer.say(frame_bytes(b"NG\r\n", Opcode.CONTINUATION))

    assert b"PONG\r\n" == peer.hear()


def test_a_line_in_fragments_is_as_long_as_any(talk: Talk) -> None:
    peer = client(talk)
    peer.say(frame_bytes(b"PUB ", final=False))
    for _ in range(100):
        peer.say(frame_bytes(b"a" * 100, Opcode.CONTINUATION, final=False))
        if b"-ERR" in peer.hear():
            break

    assert [("", ClosedState.MAX_CONTROL_LINE_EXCEEDED)] == [(d, r) for r, d in reasons(talk)]
    assert 1008 == peer.reader.frames[-1].close_status


def test_pings_without_end_get_few_answers_at_a_time(talk: Talk) -> None:
    peer = client(talk)
    for _ in range(40):
        talk.core.feed(peer.link, frame_bytes(b"x" * 100, Opcode.PING) * 500, talk.now_ns)
        talk.turn()
    (row,) = talk.links(link=peer.link)

    assert 16 * 102 == row.pending_bytes
    peer.hear()
    peer.say(frame_bytes(b"again", Opcode.PING))
    peer.hear()
    assert b"again" == peer.reader.frames[-1].payload


BAD = {
    "RSV2 and RSV3 must be clear": frame_bytes(reserved=1),
    "compressed frame received without negotiated permessage-deflate": frame_bytes(reserved=4),
    "mask bit missing": frame_bytes(b"PING\r\n", mask=b""),
    "control frame length bigger than maximum allowed of 125 bytes": frame_bytes(
        bytes(126), Opcode.PING
    ),
    "control frame does not have final bit set": frame_bytes(b"", Opcode.PING, final=False),
    "invalid continuation frame": frame_bytes(b"", Opcode.CONTINUATION),
    "new message started before final frame for previous message was received": frame_bytes(
        b"", final=False
    )
    + frame_bytes(b"PING\r\n"),
    "unknown opcode 3": frame_bytes(b"", 3),
    "invalid 64-bit payload length": frame_bytes(length=1 << 63),
    "close frame payload cannot be 1 byte": frame_bytes(b"1", Opcode.CLOSE),
    "invalid close status code 1005": frame_bytes((1005).to_bytes(2, "big"), Opcode.CLOSE),
}


@pytest.mark.parametrize("problem", BAD)
@pytest.mark.parametrize("at_once", [True, False])
def test_bad_frames_end_the_link(talk: Talk, problem: str, *, at_once: bool) -> None:
    peer = client(talk)
    said = frame_bytes(b"PING\r\n") + BAD[problem]

    for part in [said] if at_once else [said[at : at + 1] for at in range(len(said))]:
        talk.core.feed(peer.link, part, talk.now_ns)
    talk.turn()

    assert b"PONG\r\n" == peer.hear()
    assert (1002, problem.encode()) == peer.closed()
    assert [(ClosedState.READ_ERROR, f"WebSocket: {problem}")] == reasons(talk)


def test_a_long_frame_takes_no_memory_before_it_comes(talk: Talk) -> None:
    peer = stranger(talk)
    peer.say(frame_bytes(CONNECT, length=(1 << 63) - 1))

    assert b"PONG\r\n" == (peer.say(bytes_in_frame(b"PING\r\n", len(CONNECT))) or peer.hear())


def bytes_in_frame(plain: bytes, at: int) -> bytes:
    """Return masked payload that stands at a place of its frame."""
    return frame_bytes(bytes(at) + plain)[-len(plain) :]


@pytest.mark.parametrize(
    ("payload", "answer"),
    [
        (b"", (1005, b"")),
        ((1000).to_bytes(2, "big") + "gute Nacht…".encode(), (1000, "gute Nacht…".encode())),
        ((4242).to_bytes(2, "big"), (4242, b"")),
        ((1001).to_bytes(2, "big") + b"\xff", (1007, b"invalid utf8 body in close frame")),
    ],
)
def test_a_close_frame_is_answered(talk: Talk, payload: bytes, answer: tuple[int, bytes]) -> None:
    peer = client(talk)
    said = frame_bytes(b"SUB a 1\r\nPUB a 0\r\n\r\n") + frame_bytes(payload, Opcode.CLOSE)
    talk.core.feed(peer.link, said + frame_bytes(b"PING\r\n"), talk.now_ns)

    assert b"MSG a 1 0\r\n\r\n" == peer.hear()
    assert answer == peer.closed()
    assert [(ClosedState.CLIENT_CLOSED, "")] == reasons(talk)


def test_the_reason_of_an_end_is_said(talk: Talk) -> None:
    peer = client(talk)
    said = peer.tell(b"FOO\r\n")

    assert said.startswith(b"-ERR 'Unknown Protocol Operation'")
    status, text = peer.closed()
    assert status == 1002
    assert text.decode() in {state.text for state in ClosedState}


def test_a_closing_server_says_so(talk: Talk) -> None:
    peer = client(talk)
    talk.core.close(peer.link, ClosedState.SERVER_SHUTDOWN, b"-ERR 'gone'\r\n")
    talk.turn()

    assert b"-ERR 'gone'\r\n" == peer.hear()
    assert (1001, b"Server Shutdown") == peer.closed()


def test_frames_need_no_mask_where_that_was_agreed_on(talk: Talk) -> None:
    peer = stranger(talk, WebSocketFrames(is_masked=False))

    peer.say(frame_bytes(CONNECT, mask=b"") + frame_bytes(b"PING\r\n"))

    assert b"PONG\r\n" == peer.hear()


# ---- compression


@pytest.fixture
def deflating(talk: Talk) -> Talk:
    """Return a core that can compress messages."""
    assert talk.core.load_deflate()
    talk.turn()
    return talk


@pytest.mark.parametrize("seed", range(20))
def test_compressed_messages_go_both_ways(deflating: Talk, seed: int) -> None:
    rng = random.Random(seed)
    peer, heard, expected = client(deflating, COMPRESSED), b"", b""
    peer.say(frame_bytes(deflated(b"SUB a 1\r\n"), reserved=4))
    for _ in range(20):
        body = rng.choice((b"", b"y" * 100, b"x" * 100_000, rng.randbytes(30_000)))
        plain = deflated(b"PUB a %d\r\n%b\r\n" % (len(body), body))
        expected += b"MSG a 1 %d\r\n%b\r\n" % (len(body), body)
        at = rng.randrange(len(plain) + 1)
        wire = frame_bytes(plain[:at], reserved=4, final=False)
        wire += frame_bytes(b"", Opcode.PING) + frame_bytes(plain[at:], Opcode.CONTINUATION)
        while wire:
            count = rng.choice((1, 100, 100_000))
            peer.say(wire[:count])
            heard += peer.hear()
            wire = wire[count:]

    assert expected == heard
    assert [] == reasons(deflating)


def test_output_is_compressed_if_it_is_worth_it(deflating: Talk) -> None:
    peer = client(deflating, COMPRESSED)
    peer.say(frame_bytes(b"SUB a 1\r\nPING\r\n"))
    peer.reader.feed(peer.heard())
    peer.say(frame_bytes(b"PUB a 2000\r\n%b\r\n" % (b"z" * 2_000)))
    wire = peer.heard()
    peer.reader.feed(wire)

    assert [False, True] == [frame.is_compressed for frame in peer.reader.frames]
    assert len(wire) < 100
    assert b"PONG\r\nMSG a 1 2000\r\n%b\r\n" % (b"z" * 2_000) == peer.reader.plain()


def test_a_bomb_is_not_inflated() -> None:
    talk = Talk(PlaneLimits(max_payload=100_000))
    assert talk.core.load_deflate()
    talk.turn()
    peer = client(talk, COMPRESSED)
    peer.say(frame_bytes(deflated(b"PING\r\n" * 1_000_000), reserved=4))

    assert (1002, b"maximum payload exceeded") == peer.closed()
    assert len(peer.hear()) <= 6 * 200_000


@pytest.mark.parametrize(
    "said",
    [
        frame_bytes(deflated(CONNECT), reserved=4, final=False),
        frame_bytes(b"", reserved=4, length=4_097),
    ],
)
def test_before_the_login_a_compressed_message_is_small(deflating: Talk, said: bytes) -> None:
    peer = stranger(deflating, COMPRESSED)
    peer.say(said)

    assert (1002, b"compressed message too large before login") == peer.closed()


def test_behind_the_login_it_may_be_large(deflating: Talk) -> None:
    """Also when both come at once."""
    peer = stranger(deflating, COMPRESSED)
    body = random.Random(1).randbytes(20_000)
    said = deflated(b"SUB a 1\r\nPUB a 20000\r\n%b\r\n" % body)
    peer.say(frame_bytes(CONNECT) + frame_bytes(said, reserved=4))

    assert b"MSG a 1 20000\r\n%b\r\n" % body == peer.hear()


def test_who_waits_with_its_message_before_the_login_holds_nobody_up(deflating: Talk) -> None:
    peer, said = stranger(deflating, COMPRESSED), frame_bytes(deflated(CONNECT), reserved=4)
    peer.say(said[:-1])

    assert not deflating.core.is_busy
    peer.say(said[-1:] + frame_bytes(b"PING\r\n"))
    assert b"PONG\r\n" == peer.hear()


def test_garbage_is_no_compressed_message(deflating: Talk) -> None:
    peer = client(deflating, COMPRESSED)
    peer.say(frame_bytes(b"\xff" * 50, reserved=4))

    assert (1002, b"corrupt compressed message") == peer.closed()


# ---- with another stage


def test_s2_goes_in_frames(talk: Talk) -> None:
    peer = stranger(talk, PLAIN, Coding.S2_FAST)
    decoder, streams = Decoder(), encode(CONNECT + b"SUB a 1\r\nPING\r\n", Coding.S2_FAST)
    for at in range(0, len(streams), 10):
        peer.say(frame_bytes(streams[at : at + 10]))

    assert b"PONG\r\n" == decoder.feed(peer.hear())
    body = b"0123456789" * 20_000
    peer.say(frame_bytes(encode(b"PUB a 200000\r\n%b\r\n" % body, Coding.S2_BETTER)))
    assert b"MSG a 1 200000\r\n%b\r\n" % body == decoder.feed(peer.hear())


def test_s2_may_begin_within_frames(talk: Talk) -> None:
    """What stood behind the greeting is taken for the new stage."""
    peer = Socket(talk, talk.core.open(LinkKind.ROUTE, "::1", 9, accepted=True, stages=(PLAIN,)))
    said = encode(b"PING\r\n", Coding.S2_FAST)
    peer.say(frame_bytes(b'CONNECT {"cluster":"c"}\r\n' + said[:5]) + frame_bytes(said[5:]))
    talk.core.set_coding(peer.link, Coding.S2_FAST)
    talk.core.register_peer(peer.link)

    assert b"PING\r\nPONG\r\n" == Decoder().feed(peer.hear())


def test_frames_stand_next_to_the_socket(talk: Talk) -> None:
    with pytest.raises(ValueError, match="next to the socket"):
        stranger(talk, Coding.S2_FAST, PLAIN)


# ---- as the one who has dialed


def dialed(talk: Talk, *stages: PlaneStage) -> Socket:
    """Return a server that this one has dialed by WebSocket, and a route to it."""
    return Socket(talk, talk.core.open(LinkKind.ROUTE, "::1", 9, accepted=False, stages=stages))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("inside", [(), (Coding.S2_FAST,)], ids=["alone", "S2"])
def test_who_has_dialed_masks_what_it_says(
    talk: Talk, inside: tuple[Coding, ...], *, compressed: bool
) -> None:
    frames = WebSocketFrames(is_compressed=compressed, is_masked=False, masks=True)
    assert talk.core.load_deflate()
    talk.turn()
    server, user = dialed(talk, frames, *inside), talk.client()
    payload = random.Random(5).randbytes(300_000)
    said = b"INFO {}\r\nRS+ $G big\r\n"
    server.say(frame_bytes(encode(said, Coding.S2_FAST) if inside else said, mask=b""))
    talk.core.register_peer(server.link, PeerTerms())
    talk.turn()
    user.say(b"PUB big 300000\r\n%b\r\n" % payload)
    server.reader.feed(raw := server.heard())
    plain = server.reader.plain()
    heard = Decoder().feed(plain) if inside else plain

    assert raw[1] & 0x80
    assert heard.endswith(b"RMSG $G big 300000\r\n%b\r\n" % payload)


def test_a_server_that_was_dialed_may_say_much_at_one_go(talk: Talk) -> None:
    """Before the link is registered, too: all its interest may come in one message."""
    assert talk.core.load_deflate()
    talk.turn()
    server = dialed(talk, WebSocketFrames(is_compressed=True, is_masked=False, masks=True))
    said = b"INFO {}\r\n" + b"".join(b"RS+ $G many.%d\r\n" % at for at in range(20_000))
    server.say(frame_bytes(deflated(said), reserved=4, mask=b""))
    assert [] == talk.of(Closed)
    talk.core.register_peer(server.link, PeerTerms())
    talk.turn()
    client = talk.client()
    client.say(b"PUB many.19999 1\r\nx\r\n")

    assert server.hear().endswith(b"RMSG $G many.19999 1\r\nx\r\n")


def test_control_frames_of_who_has_dialed_are_masked(talk: Talk) -> None:
    server = dialed(talk, WebSocketFrames(is_masked=False, masks=True))
    server.say(frame_bytes(b"are you there", Opcode.PING, mask=b""))
    server.reader.feed(raw := server.heard())

    assert raw[1] == 0x80 | 13
    assert [b"are you there"] == [it.payload for it in server.reader.frames]
    server.reader.frames.clear()
    server.say(frame_bytes(b"\x03\xe8", Opcode.CLOSE, mask=b""))
    assert server.closed() == (1000, b"")
