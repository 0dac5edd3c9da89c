"""Streams that our servers send as tables: what comes, what is refused, and who waits for whom."""

from __future__ import annotations

import contextlib
import json
import random
import struct
import subprocess
import sys
from datetime import UTC, datetime

import psutil
import pytest
from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.credentials import Credentials
from pyspark_nats.errors import ApiError, ConnectionLostError, LoginError
from pyspark_nats.frames import header_pairs, pub, status
from pyspark_nats.jetstream import JetStream

from framework.testing import OURS

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: ./dev test -e spark")
ipc = pytest.importorskip("pyarrow.ipc")
export = pytest.importorskip("pyspark_nats.export")
pull = pytest.importorskip("pyspark_nats.pull")
plan = pytest.importorskip("pyspark_nats.plan")
table_file = pytest.importorskip("pyspark_nats.table_file")

READS = """
import sys
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark_nats.columns import BatchMaker
from pyspark_nats.connection import Address, Target
from pyspark_nats.pull import PullReader, Range, refuse_loss
from pyspark_nats.schema import columns_of, schema_of
port, stream, id_, start, end = sys.argv[1:]
range_ = Range(stream, id_, int(start), int(end), (), "export", "")
rows = PullReader(Target((Address("127.0.0.1", int(port)),)), "", range_, refuse_loss).read()
schema = schema_of("messages", columns_of("messages", (), include_headers=False))
batches = BatchMaker(stream, to_arrow_schema(schema, timezone="UTC"), 16384).batches(rows)
print(sum(len(it) for it in batches), "pandas" in sys.modules)
"""
ALL = ["sequence", "timestamp", "subject", "headers", "data", "size"]
EXPORTS_MAX = 64


@pytest.fixture(scope="session")
def kind():
    return OURS


class Taken:
    """An export, taken piece by piece."""

    def __init__(self, api, bulk, stream, request):
        self.bulk = bulk
        self.reply = f"{bulk.inbox}.rows.export"
        self.pieces = export.Pieces(bulk, bulk.subscribe(self.reply), 10)
        self.info = api.begin_export(stream, request)
        self.subject = api.next_subject(stream, self.info["id"])

    def ask(self, count):
        self.bulk.send(pub(self.subject, json.dumps({"batch": count}).encode(), self.reply))

    def all(self):
        """Return all payloads in one, and the headers of the last piece."""
        data = []
        self.ask(1)
        while True:
            piece = self.pieces.next()
            data.append(piece.payload.to_pybytes())
            if piece.headers:
                return b"".join(data), dict(header_pairs(piece.headers)), status(piece.headers)
            if len(data) > 1:
                self.ask(1)


@pytest.fixture
def take(store):
    """Give a function that begins an export with connections of its own."""
    with contextlib.ExitStack() as stack:

        def begin(stream, request, *, to=store, bulk=None):
            api = stack.enter_context(to.api())
            bulk = bulk or stack.enter_context(contextlib.closing(connection_to(to)))
            return Taken(api, bulk, stream, request)

        yield begin


def connection_to(store, user="", password=""):
    target = Target((Address("127.0.0.1", store.server.port),), Credentials(user, password))
    return Connection(target)


def table_of(data):
    table = ipc.open_stream(data).read_all()
    table.validate(full=True)
    return table


def naive(store, stream):
    """Return what the API says of each message, one by one."""
    with store.api() as api:
        state = api.stream(stream)
    target = Target((Address("127.0.0.1", store.server.port),))
    range_ = pull.Range(stream, state.id, state.first_seq, state.end)
    reader = pull.PullReader(target, "", range_, pull.refuse_loss)
    rows = []
    for each in reader.read():
        count = len(each.sequence)
        headers = each.headers.to_pylist() if each.headers is not None else [None] * count
        rows += zip(
            each.sequence.to_pylist(), each.timestamp_ns.to_pylist(),
            [it.decode() for it in each.subject.to_pylist()], headers, each.data.to_pylist(),
            strict=True,
        )  # fmt: skip
    return [
        dict(zip(ALL, (seq, ns, subject, head, data, len(data)), strict=True))
        for seq, ns, subject, head, data in rows
    ]


def rows_of(table):
    columns = {name: table.column(name) for name in table.column_names}
    if "timestamp" in columns:
        columns["timestamp"] = columns["timestamp"].cast(pa.int64())
    return pa.table(columns).to_pylist()


@pytest.fixture(scope="module")
def mixed(store):
    """A stream with headers and without, bodies of all lengths, and holes."""
    chance = random.Random(5)
    stream = store.stream()
    store.fill(
        stream, range(1, 401), subjects=7,
        headers=lambda it: b"NATS/1.0\r\nA: %d\r\n\r\n" % it if it % 3 else b"",
    )  # fmt: skip
    for size in (0, 1, 7, 8, 9, 5000):
        store.fill(stream, [0], payload=chance.randbytes(size))
    store.delete(stream, 1, 50, 51, 406)
    return stream


def test_what_comes_is_a_stream_of_arrow(store, take, mixed):
    data, said, code = take(mixed, {"max_frame_bytes": 4096}).all()
    table = table_of(data)

    assert ALL == table.column_names
    assert (pa.timestamp("ns", "UTC"), pa.string(), pa.int32()) == tuple(
        table.schema.field(name).type for name in ("timestamp", "subject", "size")
    )
    assert naive(store, mixed) == rows_of(table)
    assert 5 < len(table.column("data").chunks)
    assert (204, "402", "2", "406", "3", "2", "406") == (
        code, *(said[f"Nats-{name}"] for name in (
            "Export-Rows", "Export-First-Sequence", "Export-Last-Sequence", "Export-Holes",
            "Stream-First-Sequence", "Stream-Last-Sequence",
        ))
    )  # fmt: skip


def test_columns_filters_and_ranges(store, take, mixed):
    rows = naive(store, mixed)
    chance = random.Random(9)
    moments = [row["timestamp"] for row in rows]
    for _ in range(40):
        columns = chance.sample(ALL, chance.randint(1, len(ALL)))
        filters = chance.choice([[], [f"{mixed}.3"], [f"{mixed}.*"], [f"{mixed}.1", f"{mixed}.5"]])
        first, last = sorted(chance.choices(range(1, 500), k=2))
        begin, end = sorted(chance.choices(moments, k=2))
        request = {
            "columns": columns, "filter_subjects": filters, "seq": first, "up_to_seq": last,
            "max_frame_bytes": chance.choice([0, 4096, 20000]),
        }  # fmt: skip
        if is_timed := chance.random() < 0.5:
            request |= {"start_time": text_of(begin), "up_to_time": text_of(end)}
        taken = take(mixed, request)
        expected = [
            {name: row[name] for name in ALL if name in columns}
            for row in rows
            if first <= row["sequence"] <= last
            and (not filters or row["subject"] in filters or filters == [f"{mixed}.*"])
            and (not is_timed or begin <= row["timestamp"] <= end)
        ]
        if not taken.info["id"]:
            assert not expected
            continue
        assert expected == rows_of(table_of(taken.all()[0])), request


def text_of(ns):
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def test_a_message_that_is_longer_than_a_frame_comes_alone(store, take):
    stream = store.stream()
    store.fill(stream, range(3), payload=b"%d" + b"x" * 900_000)
    data, *_ = take(stream, {"max_frame_bytes": 4096}).all()
    table = table_of(data)

    assert [1, 1, 1] == [len(it) for it in table.column("data").chunks]
    assert [900_001] * 3 == table.column("size").to_pylist()


def test_subjects_and_bodies_that_are_no_text(store, take):
    stream = store.stream(subjects=["bin.>"])
    names = ["bin.é".encode(), b"bin.\xff\xc3", b"bin.\xed\xa0\x80", "bin.\U0001f600".encode()]
    with store.api() as api:
        connection = api.connection
        for name in names:
            connection.send(b"PUB %b 4\r\n\xff\x00\xfe\n\r\n" % name)
        connection.flush(10)
    table = table_of(take(stream, {}).all()[0])

    assert ["bin.é", "bin.��", "bin.���", "bin.\U0001f600"] == (table.column("subject").to_pylist())
    assert [b"\xff\x00\xfe\n"] * 4 == table.column("data").to_pylist()


def test_nothing_comes_that_was_not_asked_for(store, take, monkeypatch):
    monkeypatch.setattr(export, "SILENT_S", 0.0)
    stream = store.stream()
    store.fill(stream, range(200), payload=b"x" * 1000)
    taken = take(stream, {"max_frame_bytes": 4096})
    window = taken.info["window"]
    taken.ask(2)
    begun = [taken.pieces.next() for _ in range(3)]
    taken.bulk.send(b"PING\r\n")

    with pytest.raises(ConnectionLostError, match="brings nothing"):
        taken.pieces.next()
    assert [0, 3, 3] == [rows_in(it, begun[0]) for it in begun]
    assert 512 == window
    assert {"first_seq": 1, "last_seq": 200}.items() <= taken.info.items()


def rows_in(piece, first):
    if piece is first:
        return 0
    return len(ipc.read_record_batch(piece.payload, ipc.read_schema(first.payload)))


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"columns": ["offset"]}, "sequence, timestamp, subject, headers, data, size"),
        ({"columns": ["data", "data"]}, "each once"),
        ({"filter_subjects": ["a b"]}, "invalid filter subject"),
        ({"filter_subjects": ["a.*", "a.b"]}, "overlap"),
        ({"filter_subjects": [f"a.{it}" for it in range(1001)]}, "at most 1000"),
        ({"start_time": "yesterday"}, "no time"),
        ({"seq": -1}, "-1"),
        ({"max_frame_bytes": -1}, "-1"),
        ({"what": 1}, "unknown field"),
    ],
)
def test_what_makes_no_sense_is_refused(store, mixed, request_, said):
    with store.api() as api, pytest.raises(ApiError) as raised:
        api.begin_export(mixed, request_)
    assert said in str(raised.value) or "invalid JSON" in str(raised.value)


def test_ranges_that_lie_bring_nothing(store, take, mixed):
    for request in (
        {"seq": 407}, {"seq": 2**63}, {"seq": 10, "up_to_seq": 9}, {"up_to_seq": 1},
    ):  # fmt: skip
        info = take(mixed, request).info
        assert ("", True) == (info["id"], info["first_seq"] > info["last_seq"])
    table = table_of(take(mixed, {"seq": 1, "up_to_seq": 2**63}).all()[0])
    assert 402 == len(table)
    with store.api() as api, pytest.raises(ApiError) as raised:
        api.begin_export("NONE", {})
    assert 404 == raised.value.code


def test_wrong_requests_for_frames_are_answered(take, mixed):
    taken = take(mixed, {})
    for wrong in (b"{", b"[]", b'{"batch": 0}', b'{"batch": "x"}', b'{"batch": -5}'):
        taken.bulk.send(pub(taken.subject, wrong, taken.reply))
        assert 400 == status(taken.pieces.next().headers)
    assert 402 == len(table_of(taken.all()[0]))


def test_batches_that_lie_are_refused():
    """Offsets of a text that end before they begin, and a text that is none."""
    for offsets, text in (((0, 9, 3), b"abc"), ((0, 1, 3), b"a\xff\xff")):
        room = pa.py_buffer(struct.pack("<3i", *offsets))
        column = pa.StringArray.from_buffers(2, room, pa.py_buffer(text))
        batch = pa.record_batch([column], names=["subject"])

        with pytest.raises(ConnectionLostError, match="makes no sense"):
            export.batch_of(batch.serialize(), batch.schema)
    with pytest.raises(ConnectionLostError, match="makes no sense"):
        export.batch_of(batch.serialize().slice(0, 40), batch.schema)


def test_a_stream_that_is_deleted_ends_its_exports(store, take):
    stream = store.stream()
    store.fill(stream, range(100), payload=b"x" * 1000)
    taken = take(stream, {"max_frame_bytes": 4096})
    taken.ask(1)
    taken.pieces.next()
    taken.pieces.next()
    store.ask(f"STREAM.DELETE.{stream}")

    assert 409 == status(taken.pieces.next().headers)


USERS = """
accounts {
  A {
    jetstream: enabled
    users: [
      { user: ann, password: pw }
      { user: bob, password: pw, permissions: { publish: { deny: "$JS.API.CONSUMER.>" } } }
      { user: cyd, password: pw, permissions: { publish: { deny: "$JS.API.STREAM.EXPORT.>" } } }
    ]
  }
  B { jetstream: enabled, users: [ { user: dan, password: pw } ] }
}
"""


def test_who_may_not_read_a_stream_gets_no_export_of_it(own_store):
    store = own_store(USERS, user="ann", password="pw")
    stream = store.stream(10)
    with contextlib.closing(connection_to(store, "bob", "pw")) as bulk, store.api() as api:
        taken = Taken(JetStream(bulk), bulk, stream, {})
        taken.ask(1)
        with pytest.raises(LoginError, match="Permissions Violation"):
            taken.pieces.next()
        assert api.has_exports(stream)
    for user, is_served in (("ann", True), ("cyd", False), ("dan", False)):
        with contextlib.closing(connection_to(store, user, "pw")) as connection:
            assert is_served == JetStream(connection).has_exports(stream)


def test_readers_that_stop_cost_what_they_asked_for(own_store):
    """A hundred exports whose readers take nothing, and one that goes on beside them."""
    store = own_store()
    stream = store.stream()
    store.fill(stream, range(40_000), payload=b"x" * 1000)
    process = psutil.Process(store.server.pid)
    before = process.memory_info().rss
    refused = []
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            bulk = stack.enter_context(contextlib.closing(connection_to(store)))
            try:
                taken = Taken(JetStream(bulk), bulk, stream, {})
            except ApiError as error:
                refused.append((error.code, error.err_code))
                continue
            taken.ask(1_000_000)
        api = stack.enter_context(store.api())
        bulk = stack.enter_context(contextlib.closing(connection_to(store)))
        # What was refused is read by a consumer; the stream takes and gives as before.
        store.fill(stream, range(100))
        state = api.stream(stream)
        range_ = pull.Range(stream, state.id, 1, state.end, (), "export", "consumer")
        target = Target((Address("127.0.0.1", store.server.port),))
        read = list(pull.PullReader(target, "", range_, pull.refuse_loss).read())
        after = process.memory_info().rss

        assert [(503, 10023)] * (100 - EXPORTS_MAX) == refused
        assert 40_100 == sum(len(rows.sequence) for rows in read)
        assert after - before < EXPORTS_MAX * (4 << 20)


def test_a_connection_that_is_gone_ends_its_export(own_store, wait_until):
    store = own_store()
    stream = store.stream()
    store.fill(stream, range(1000), payload=b"x" * 1000)

    def began():
        with contextlib.closing(connection_to(store)) as bulk:
            try:
                taken = Taken(JetStream(bulk), bulk, stream, {"max_frame_bytes": 4096})
            except ApiError:
                return False
            taken.ask(3)
            return [taken.pieces.next() for _ in range(4)]

    for _ in range(2 * EXPORTS_MAX):
        wait_until(began)


def test_who_reads_exports_waits_for_no_pandas(store, mixed):
    with store.api() as api:
        state = api.stream(mixed)
    range_ = (mixed, state.id, str(state.first_seq), str(state.end))
    words = [sys.executable, "-c", READS, str(store.server.port), *range_]
    done = subprocess.run(words, capture_output=True, text=True, check=True)

    assert f"{state.messages} False\n" == done.stdout


def test_the_source_takes_exports_where_there_are_some(store, mixed):
    with store.api() as api:
        state = api.stream(mixed)
        options = plan_options(store, mixed)
        assert ("export", "consumer") == plan.ways_of(api, options, state)
        options = plan_options(store, mixed, protocol="consumer")
        assert ("consumer", "") == plan.ways_of(api, options, state)


def plan_options(store, stream, **more):
    from pyspark_nats.options import read_options  # noqa: PLC0415 - beside its use

    return read_options({"servers": store.url, "stream": stream, **more})


@pytest.mark.parametrize("suffix", [".arrows", ".arrow", ".parquet"])
def test_a_stream_as_a_file(store, mixed, tmp_path, capsys, suffix):
    file = tmp_path / f"rows{suffix}"

    assert 0 == table_file.main([mixed, "--to", str(file), "--servers", store.url])
    assert "402 rows" in capsys.readouterr().err
    assert naive(store, mixed) == rows_of(READERS[suffix](file))
    assert [file] == list(tmp_path.iterdir())


def test_the_command_line_writes_to_a_pipe(store, mixed):
    words = ["export", mixed, "--to", "-", "--servers", store.url, "--subject", f"{mixed}.3"]
    done = subprocess.run(
        [sys.executable, "-m", "framework", *words], check=False, capture_output=True
    )

    assert 0 == done.returncode, done.stderr
    assert {f"{mixed}.3"} == set(table_of(done.stdout).column("subject").to_pylist())


def read_parquet(file):
    return pytest.importorskip("pyarrow.parquet").read_table(file)


READERS = {
    ".arrows": lambda file: ipc.open_stream(file.read_bytes()).read_all(),
    ".arrow": lambda file: ipc.open_file(file.read_bytes()).read_all(),
    ".parquet": read_parquet,
}


def test_a_file_that_cannot_be_written_leaves_nothing(store, mixed, tmp_path, capsys):
    for words, said in (
        ([mixed, "--to", str(tmp_path / "rows.csv")], ".arrows, .arrow, .parquet"),
        (["NONE", "--to", str(tmp_path / "rows.arrows")], "there is no stream 'NONE'"),
        ([mixed, "--to", str(tmp_path / "no" / "rows.arrows")], "No such file"),
        ([mixed, "--to", str(tmp_path / "rows.arrows"), "--option", "x"], "NAME=VALUE"),
    ):
        assert 2 == table_file.main([*words, "--servers", store.url])
        assert said in capsys.readouterr().err
    assert [] == list(tmp_path.iterdir())
