"""Archives that lie are refused whole; snapshots keep to their window."""

from __future__ import annotations

import json
import random
from unittest.mock import Mock

import pytest
from framework_jetstream.engine._archives import entry_header
from framework_jetstream.exchange import Arrived
from framework_jetstream.exports.places import EXPORTS_MAX
from framework_jetstream.snapshots.restore import PIECES_BYTES_MAX, Restore
from framework_jetstream.stream.archives import RESTORES_MAX

from framework.wire.s2 import encode

PLUGIN = ("-plugin", "framework_jetstream.plugin")
CONFIG = {"name": "S", "subjects": ["s.>"], "storage": "memory", "max_msg_size": 2000}
STATE = {
    "messages": 2,
    "bytes": 100,
    "first_seq": 1,
    "first_ts": "2026-01-01T00:00:00Z",
    "last_seq": 2,
    "last_ts": "2026-01-01T00:00:00Z",
    "consumer_count": 0,
}
END = bytes(5)


def message(seq, subject=b"s.a", payload=b"x", header=b""):
    return entry_header(subject, 10**18, seq, len(header), len(payload)) + header + payload


def document(name, content):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return entry_header(name, 10**18, 0, 0, len(body)) + body


def archive(*parts, magic=b"NATSARC1", **state):
    return magic + document(b"state.json", {**STATE, **state}) + b"".join(parts)


def send(user, pieces, config=CONFIG):
    """Return what a restore of some pieces is answered at last."""
    begun = user.api("STREAM.RESTORE.S", {"config": config, "state": STATE})
    if "error" in begun:
        return begun
    for piece in pieces:
        answered = user.ask(begun["deliver_subject"], piece)[1]
        if answered:
            return json.loads(answered)
    return json.loads(user.ask(begun["deliver_subject"], b"")[1])


@pytest.fixture
def user(fleet, log_in, tmp_path):
    server = fleet.start("-js", "-sd", str(tmp_path / "store"), *PLUGIN)
    with server.client() as client:
        yield log_in(client)


TWO = (message(1), message(2), END)
WAITING = {"config": {"name": "C"}, "state": {"delivered": {}, "ack_floor": {}}}
LIES = {
    "no archive": b"PK" * 40,
    "a tar": b"meta.inf" + bytes(504),
    "no state": b"NATSARC1" + message(1),
    "a state that is none": b"NATSARC1" + document(b"state.json", b"[1"),
    "a negative count": archive(*TWO, messages=-1),
    "a range that is none": archive(*TWO, first_seq=9),
    "more messages than sequences": archive(*TWO, messages=3),
    "a sequence that wraps": archive(*TWO, last_seq=2**64 - 1),
    "consumers without end": archive(*TWO, consumer_count=2**31),
    "a consumer too few": archive(*TWO, consumer_count=1),
    "a consumer that is none": archive(document(b"consumers/C", {"config": 7}), consumer_count=1),
    "another order": archive(message(2), message(1), END),
    "the same again": archive(message(1), message(1), END),
    "beyond the last": archive(message(1), message(3), END),
    "more messages than it says": archive(message(1), message(2), END, messages=1),
    "no sequence": archive(message(0), END),
    "a subject with a wildcard": archive(message(1, b"s.*"), END),
    "a subject with a blank": archive(message(1, b"s. x"), END),
    "a subject with a line end": archive(message(1, b"s.\r\nPUB x 0\r\n"), END),
    "a subject with an empty token": archive(message(1, b"../x"), END),
    "a header that is none": archive(message(1, header=b"X: y\r\n\r\n"), END),
    "a header without end": archive(message(1, header=b"NATS/1.0\r\nX: y"), END),
    "a message above the stream's size": archive(message(1, payload=b"x" * 2001), END),
    "a message above the server's": archive(entry_header(b"s", 1, 1, 0, 2**40)),
    "sizes that wrap": archive(entry_header(b"s", 1, 1, 2**63, 2**63)),
    "a name above all": archive(b"\xff\xff\xff\xff\x0f" + bytes(20)),
    "a number without end": archive(b"\xff" * 20),
    "no end": archive(message(1), message(2)),
    "half a message": archive(message(1), message(2)[:-1]),
    "something behind the end": archive(*TWO, b"more"),
}


@pytest.mark.parametrize("storage", ["memory", "file"])
def test_an_archive_that_lies_leaves_nothing(user, storage):
    config = {**CONFIG, "storage": storage}
    for lie, content in LIES.items():
        answer = send(user, [encode(content)], config)
        stats = user.api("INFO")

        assert answer["error"]["err_code"] == 10062, (lie, answer)
        assert (stats["streams"], stats["memory"], stats["storage"]) == (0, 0, 0), lie
    assert "error" not in send(user, [encode(archive(*TWO))], config)


@pytest.mark.parametrize("piece", [b"\x00" * 100, encode(b"NATSARC1")[:-3] + b"zzz", b"\xff" * 50])
def test_what_is_no_s2_is_refused(user, piece):
    assert send(user, [piece])["error"]["err_code"] == 10062
    assert user.api("STREAM.NAMES")["streams"] is None


def test_pieces_of_any_size_make_one_archive(user):
    whole = encode(archive(message(1, header=b"NATS/1.0\r\nX: y\r\n\r\n"), message(2), END))
    answer = send(user, [whole[at : at + 1] for at in range(len(whole))])

    assert answer["type"] == "io.nats.jetstream.api.v1.stream_create_response"
    assert answer["state"]["messages"] == 2
    assert user.api("STREAM.MSG.GET.S", {"seq": 1})["message"]["hdrs"]


def test_an_archive_of_many_zeros_takes_no_more_memory_than_a_frame(user):
    bomb = archive(message(1, payload=bytes(1500)), bytes(64 * 1024 * 1024))

    assert send(user, [encode(bomb)])["error"]["err_code"] == 10062


def test_a_stream_that_is_there_is_not_replaced(user):
    user.api("STREAM.CREATE.S", CONFIG)

    assert send(user, [])["error"]["err_code"] == 10130


def test_archives_without_end_get_no_more_than_their_places(user):
    begun = [
        user.api(f"STREAM.RESTORE.S{at}", {"config": {"name": f"S{at}"}, "state": STATE})
        for at in range(RESTORES_MAX + 1)
    ]
    refused = begun.pop()
    assert not [it for it in begun if "error" in it]
    assert refused["error"]["err_code"] == 10023

    user.ask(begun[0]["deliver_subject"], encode(LIES["no archive"]))
    assert "error" not in send(user, [encode(archive(*TWO))])


class Slow(Restore):
    """Decodes for ever, and is in no system of actors."""

    def run_blocking(self, *_, **__):
        """Begin, and come to no end."""

    def tell_later(self, *_):
        """Have no clock."""

    def stop(self):
        """Take no more."""
        self.has_stopped = True


def test_who_does_not_wait_for_acknowledgements_is_given_up():
    others = {
        name: Mock()
        for name in (
            "origin",
            "link",
            "exchange",
            "advisories",
            "finish",
            "begun",
            "given_up",
        )
    }
    taker = Slow(**others, clock=lambda: 0)
    taker._begun_ns = 0
    piece = Arrived("deliver", "acknowledge", b"", bytes(1 << 20))
    sent = 0
    while not getattr(taker, "has_stopped", False):
        taker.on_receive(Restore._Pieces([piece]))
        sent += 1
        assert sent < 1000

    assert sent * (1 << 20) > PIECES_BYTES_MAX
    others["given_up"].assert_called_once()
    others["finish"].assert_not_called()
    assert b"without waiting" in others["exchange"].publish.call_args.args[2]


def test_a_stream_that_came_meanwhile_stays(user):
    begun = user.api("STREAM.RESTORE.S", {"config": CONFIG, "state": STATE})
    user.ask(begun["deliver_subject"], encode(archive(*TWO)))
    user.api("STREAM.CREATE.S", CONFIG)
    answer = json.loads(user.ask(begun["deliver_subject"], b"")[1])

    assert answer["error"]["err_code"] == 10130
    assert user.api("STREAM.INFO.S")["state"]["messages"] == 0


def test_a_consumer_with_a_bad_name_is_left_out(user):
    bad = document(b"consumers/../../x", {**WAITING, "config": {"name": "../../x"}})
    good = document(b"consumers/C", WAITING)
    answer = send(user, [encode(archive(bad, good, *TWO, consumer_count=2))])

    assert "error" not in answer
    assert user.api("CONSUMER.NAMES.S")["consumers"] == ["C"]


def test_snapshots_without_end_get_no_more_than_their_places(user):
    user.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "memory"})
    user.ask("s", random.Random(1).randbytes(10_000))
    user._client.send(b"SUB snap 9\r\n")
    request = {"deliver_subject": "snap", "chunk_size": 1024, "window_size": 2048}
    begun = [user.api("STREAM.SNAPSHOT.S", request) for _ in range(EXPORTS_MAX + 1)]
    refused = begun.pop()

    assert not [it for it in begun if "error" in it]
    assert refused["error"]["err_code"] == 10023


def test_a_snapshot_waits_for_acknowledgements(user):
    user.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s"], "storage": "memory"})
    chance = random.Random(1)
    for _ in range(3):
        user.ask("s", chance.randbytes(4000))
    client = user._client
    client.send(b"SUB snap 9\r\n")
    request = {"deliver_subject": "snap", "chunk_size": 1024, "window_size": 2048}
    state = user.api("STREAM.SNAPSHOT.S", request)["state"]
    pieces, data = [], b""
    while True:
        operation = client.read()
        if operation.verb not in {b"MSG", b"HMSG"} or operation.subject != b"snap":
            continue
        words = operation.line.split()
        if len(operation.body) == 0 or operation.verb == b"HMSG":
            break
        data += operation.body
        if len(words) == 5:  # it has a reply subject
            pieces.append(words[3])
            if len(pieces) % 2 == 0:  # the window is full: nothing comes before this
                for reply in pieces[-2:]:
                    client.send(b"PUB %b 0\r\n\r\n" % reply)

    assert state["messages"] == 3
    assert [b"%d" % (at + 1) for at in range(len(pieces))] == [it.split(b".")[-1] for it in pieces]
    assert len(data) > 12_000
