"""Frames of the client protocol, cut at every place."""

from __future__ import annotations

import pytest
from pyspark_nats.errors import ConnectionLostError
from pyspark_nats.frames import Frame, Frames, header_pairs, pub, status

HEAD = b"NATS/1.0\r\nA: 1\r\nb:two words\r\n\r\n"
WIRE = (
    b'INFO {"a":1}\r\n+OK\r\nPING\r\n'
    b"MSG a.b 1 5\r\na\r\nbc\r\n"
    b"MSG a.b 2 _R.1 0\r\n\r\n"
    b"MSG a.b 4  1\r\nx\r\n"
    b"HMSG a.b 3 _R.1 %d %d\r\n" % (len(HEAD), len(HEAD) + 2) + HEAD + b"hi\r\n"
    b"-ERR 'Unknown Protocol Operation'\r\n"
)
FRAMES = [
    Frame(b"INFO", b'{"a":1}'),
    Frame(b"+OK"),
    Frame(b"PING"),
    Frame(b"MSG", b"", b"a.b", 1, b"", b"", b"a\r\nbc"),
    Frame(b"MSG", b"", b"a.b", 2, b"_R.1", b"", b""),
    Frame(b"MSG", b"", b"a.b", 4, b"", b"", b"x"),
    Frame(b"MSG", b"", b"a.b", 3, b"_R.1", HEAD, b"hi"),
    Frame(b"-ERR", b"'Unknown Protocol Operation'"),
]


def test_frames_are_the_same_however_they_come():
    for at in range(len(WIRE) + 1):
        frames = Frames()

        assert FRAMES == [*frames.feed(WIRE[:at]), *frames.feed(WIRE[at:])]


def test_byte_by_byte():
    frames = Frames()

    assert FRAMES == [each for byte in WIRE for each in frames.feed(bytes([byte]))]


@pytest.mark.parametrize("data", [b"HTTP/1.1 400 Bad Request\r\n", b"x" * 70_000])
def test_what_is_no_server_is_refused(data):
    with pytest.raises(ConnectionLostError):
        list(Frames().feed(data))


def test_headers():
    assert [("A", "1"), ("b", "two words")] == header_pairs(HEAD)
    assert 404 == status(b"NATS/1.0 404 No Messages\r\n\r\n")
    assert 0 == status(HEAD)


def test_pub():
    assert b"PUB a 2\r\nhi\r\n" == pub("a", b"hi")
    assert b"PUB a r 0\r\n\r\n" == pub("a", b"", "r")
