"""Streams as files of the monitoring port, and what pandas, polars and DuckDB make of them."""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import socket
import urllib.error
import urllib.request
from urllib.parse import urlencode

import psutil
import pytest

from framework.testing import OURS, await_answer

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: ./dev test -e spark")
ipc = pytest.importorskip("pyarrow.ipc")
parquet = pytest.importorskip("pyarrow.parquet")
table_file = pytest.importorskip("pyspark_nats.table_file")

ALL = ["sequence", "timestamp", "subject", "headers", "data", "size"]
EXPORTS_MAX = 64
FORMS = [".arrows", ".parquet"]


@pytest.fixture(scope="session")
def kind():
    return OURS


@pytest.fixture(scope="module")
def monitored(start_store):
    return start_store("http: '127.0.0.1:-1'")


@pytest.fixture(scope="module")
def mixed(monitored):
    """A stream with headers and without, bodies of all lengths, and holes; more than one frame."""
    stream = monitored.stream()
    monitored.fill(
        stream, range(1, 3001), subjects=7, payload=b"message %d" + b"." * 900,
        headers=lambda it: b"NATS/1.0\r\nA: %d\r\n\r\n" % it if it % 3 else b"",
    )  # fmt: skip
    for size in (0, 1, 7, 8, 9):
        monitored.fill(stream, [0], payload=b"x" * size)
    monitored.delete(stream, 1, 50, 51, 3005)
    return stream


def url_of(store, name, **query):
    words = urlencode({it.rstrip("_"): value for it, value in query.items()}, safe=",.*>:")
    return f"http://127.0.0.1:{store.server.monitor_port}/stream/{name}?{words}"


def get(store, name, user="", **query):
    request = urllib.request.Request(url_of(store, name, **query))
    if user:
        login = base64.b64encode(f"{user}:pw".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def table_of(data, form):
    if form == ".parquet":
        return parquet.read_table(io.BytesIO(data))
    table = ipc.open_stream(data).read_all()
    table.validate(full=True)
    return table


def rows_of(table):
    columns = {name: table.column(name) for name in table.column_names}
    if "timestamp" in columns:
        columns["timestamp"] = columns["timestamp"].cast(pa.int64())
    return pa.table(columns).to_pylist()


@pytest.fixture(scope="module")
def rows(monitored, mixed, tmp_path_factory):
    """What the stream has, as its file says that `framework export` writes."""
    file = tmp_path_factory.mktemp("rows") / "rows.arrows"
    assert 0 == table_file.main([mixed, "--to", str(file), "--servers", monitored.url])
    return rows_of(ipc.open_stream(file.read_bytes()).read_all())


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_as_a_file(monitored, mixed, rows, form):
    table = table_of(get(monitored, mixed + form), form)

    assert rows == rows_of(table)
    assert 3001 == len(rows)
    assert ALL == table.column_names
    assert (pa.timestamp("ns", "UTC"), pa.string(), pa.int32()) == tuple(
        table.schema.field(name).type for name in ("timestamp", "subject", "size")
    )
    assert {bool(it["headers"]) for it in rows} == {True, False}


@pytest.mark.parametrize("form", FORMS)
def test_ranges_columns_and_subjects(monitored, mixed, rows, form):
    def found(**query):
        return rows_of(table_of(get(monitored, mixed + form, **query), form))

    assert [it for it in rows if 10 <= it["sequence"] <= 60] == found(from_=10, to=60)
    assert [it for it in rows if it["subject"] == f"{mixed}.3"] == found(subject=f"{mixed}.3")
    two = {f"{mixed}.1", f"{mixed}.5"}
    assert [it for it in rows if it["subject"] in two] == found(subject=",".join(sorted(two)))
    assert [{"subject": it["subject"], "size": it["size"]} for it in rows] == found(
        columns="size,subject"
    )
    assert [{"headers": it["headers"]} for it in rows] == found(columns="headers")
    for lies in ({"from_": 5000}, {"from_": 10, "to": 9}, {"from_": 2**63}, {"to": 1}):
        assert [] == found(**lies)
    assert rows == found(to=2**63)


def test_row_groups_of_a_large_file(monitored):
    """As they are made while they are sent: none of them is large."""
    stream = monitored.stream(storage="memory")
    monitored.fill(stream, range(20_000), payload=b"%d" + b"x" * 300)
    file = parquet.ParquetFile(io.BytesIO(get(monitored, f"{stream}.parquet")))
    groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]

    assert 20_000 == file.metadata.num_rows
    assert 3 <= len(groups) <= 5
    assert all(2 << 20 <= it.total_byte_size < 4 << 20 for it in groups[:-1])
    assert list(range(1, 20_001)) == file.read(["sequence"]).column(0).to_pylist()


@pytest.mark.parametrize(
    ("name", "query", "code", "said"),
    [
        ("NAME.csv", {}, 404, ".arrows"),
        ("NAME", {}, 404, ".parquet"),
        (".arrows", {}, 404, ".arrows"),
        ("a.b.arrows", {}, 404, "no stream can be called"),
        ("a%0d%0aPUB.arrows", {}, 404, "no stream can be called"),
        ("NONE.arrows", {}, 404, "stream not found"),
        ("NAME.arrows", {"columns": "offset"}, 400, "sequence, timestamp, subject"),
        ("NAME.arrows", {"from_": "x"}, 400, "'from'"),
        ("NAME.arrows", {"subject": "a..b"}, 400, "invalid filter subject"),
        ("NAME.parquet", {"start_time": "yesterday"}, 400, "no time"),
        ("NAME.arrows", {"domain": "a.b"}, 400, "no domain can be called"),
        ("NAME.arrows", {"domain": "else"}, 503, "no server has streams"),
    ],
)
def test_what_makes_no_sense_is_refused(monitored, mixed, *, name, query, code, said):
    with pytest.raises(urllib.error.HTTPError) as raised:
        get(monitored, name.replace("NAME", mixed), **query)
    assert code == raised.value.code
    assert said in raised.value.read().decode()


USERS = """
http: "127.0.0.1:-1"
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


def test_who_may_not_read_a_stream_gets_no_file_of_it(own_store):
    store = own_store(USERS, user="ann", password="pw")
    stream = store.stream(10)

    assert 10 == len(table_of(get(store, f"{stream}.arrows", "ann"), ".arrows"))
    for user, code in (("", 401), ("eve", 401), ("bob", 403), ("cyd", 403), ("dan", 404)):
        with pytest.raises(urllib.error.HTTPError) as raised:
            get(store, f"{stream}.parquet", user)
        assert code == raised.value.code, user
        assert ("WWW-Authenticate" in raised.value.headers) == (code == 401)
    # A refused export ends beside its answer.
    await_answer(
        store.server,
        lambda: [it for it in connections(store) if "/stream/" in it.get("name", "")],
        lambda it: it == [],
    )


def connections(store):
    return store.server.document("/connz")["connections"]


def test_head_begins_nothing_that_stays(monitored, mixed):
    connection = http.client.HTTPConnection("127.0.0.1", monitored.server.monitor_port)
    with contextlib.closing(connection):
        for _ in range(2 * EXPORTS_MAX):
            connection.request("HEAD", f"/stream/{mixed}.arrows")
            answer = connection.getresponse()
            answer.read()
            while answer.status == 503:  # exports end behind their connections
                connection.request("HEAD", f"/stream/{mixed}.arrows")
                answer = connection.getresponse()
                answer.read()
            assert 200 == answer.status
    assert 3001 == len(table_of(get(monitored, f"{mixed}.arrows"), ".arrows"))


def test_a_stream_that_is_deleted_cuts_its_files(own_store):
    store = own_store("http: '127.0.0.1:-1'")
    stream = store.stream()
    store.fill(stream, range(40_000), payload=b"x" * 1000)
    answer = urllib.request.urlopen(url_of(store, f"{stream}.arrows"), timeout=60)
    with answer:
        answer.read(1 << 16)
        store.ask(f"STREAM.DELETE.{stream}")
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()


def test_a_hundred_readers_that_stop(own_store):
    """They cost what they were sent; whoever asks meanwhile is answered."""
    store = own_store("http: '127.0.0.1:-1'")
    stream = store.stream()
    store.fill(stream, range(40_000), payload=b"x" * 1000)
    process = psutil.Process(store.server.pid)
    before = process.memory_info().rss
    codes = []
    with contextlib.ExitStack() as stack:
        for at in range(100):
            sock = socket.create_connection(("127.0.0.1", store.server.monitor_port))
            stack.enter_context(contextlib.closing(sock))
            form = FORMS[at % 2]
            sock.sendall(f"GET /stream/{stream}{form} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            codes.append(int(sock.recv(12)[9:]))
        store.fill(stream, range(100))
        state = store.ask(f"STREAM.INFO.{stream}")["state"]
        after = process.memory_info().rss

        assert [200] * EXPORTS_MAX + [503] * (100 - EXPORTS_MAX) == codes
        assert 40_100 == state["messages"]
        assert "ok" == store.server.document("/healthz")["status"]
        assert after - before < EXPORTS_MAX * (6 << 20)
    while True:
        with contextlib.suppress(urllib.error.HTTPError):
            data = get(store, f"{stream}.arrows", columns="sequence")
            break
    assert 40_100 == len(table_of(data, ".arrows"))


# ---- without us --------------------------------------------------------------------------------


EXPECTED = "3001 rows, 7 subjects, 1998 with headers"


@pytest.fixture(params=["export", "http"])
def file_of(request, monitored, mixed, tmp_path):
    """Give a function that returns a file of the stream, by the command or by HTTP."""

    def made(form):
        file = tmp_path / f"rows{form}"
        if request.param == "http":
            file.write_bytes(get(monitored, mixed + form))
        else:
            assert 0 == table_file.main([mixed, "--to", str(file), "--servers", monitored.url])
        return file

    return made


def in_words(count, subjects, headers):
    return f"{count} rows, {subjects} subjects, {headers} with headers"


def test_pandas_reads_it(file_of):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(file_of(".parquet"))

    assert EXPECTED == in_words(len(frame), frame.subject.nunique(), frame.headers.count())
    assert "datetime64[ns, UTC]" == str(frame.timestamp.dtype)
    assert b"message 2." == frame.data[0][:10]


@pytest.mark.parametrize("form", FORMS)
def test_polars_reads_it(file_of, form):
    polars = pytest.importorskip("polars")
    read = polars.read_parquet if form == ".parquet" else polars.read_ipc_stream
    frame = read(file_of(form))

    count = len(frame) - frame["headers"].null_count()
    assert EXPECTED == in_words(len(frame), frame["subject"].n_unique(), count)
    assert polars.Datetime("ns", "UTC") == frame.schema["timestamp"]
    assert b"message 2." == frame["data"][0][:10]


@pytest.mark.parametrize("form", FORMS)
def test_duckdb_reads_it(file_of, form):
    duckdb = pytest.importorskip("duckdb")
    file = file_of(form)
    with duckdb.connect() as database:
        if form == ".arrows":
            rows = ipc.open_stream(file.read_bytes())
            database.register("rows", rows)
            source = "rows"
        else:
            source = f"'{file}'"
        found = database.sql(
            f"select count(*), count(distinct subject), count(headers) from {source}"
        ).fetchall()

    assert EXPECTED == in_words(*found[0])


def test_urls_are_read_as_they_are(monitored, mixed):
    """What people type in a notebook."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.read_parquet(url_of(monitored, f"{mixed}.parquet", columns="subject,size"))
    with urllib.request.urlopen(url_of(monitored, f"{mixed}.arrows", from_=3001)) as answer:
        last = polars.read_ipc_stream(answer.read())
    with urllib.request.urlopen(url_of(monitored, f"{mixed}.arrows")) as answer:
        batches = [len(it) for it in ipc.open_stream(answer)]

    assert (3001, ["subject", "size"]) == (len(frame), list(frame.columns))
    assert [3001, 3002, 3003, 3004] == last["sequence"].to_list()
    assert 3001 == sum(batches)
    assert 3 < len(batches)
