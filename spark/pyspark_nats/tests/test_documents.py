"""Documents to columns: whatever servers say, a column has its type or is null."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: ./dev test -e spark")
documents = pytest.importorskip("pyspark_nats.documents")

from pyspark_nats.views import EVENTS, SNAPSHOTS, VIEWS, View, view_columns  # noqa: E402

TIMESTAMP = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (7, pa.int64(), 7),
        (1 << 63, pa.int64(), None),
        (1 << 31, pa.int32(), None),
        ("7", pa.int64(), None),
        (True, pa.int64(), None),
        (1, pa.bool_(), None),
        (False, pa.bool_(), False),
        (1, pa.float64(), 1.0),
        ({"a": 1}, pa.string(), '{"a": 1}'),
        (None, pa.string(), None),
        ("2026-01-02T03:04:05.123456789Z", TIMESTAMP, datetime(2026, 1, 2, 3, 4, 5, 123456, UTC)),
        ("2026-01-02T03:04:05+01:00", TIMESTAMP, datetime(2026, 1, 2, 2, 4, 5, 0, UTC)),
        ("0001-01-01T00:00:00Z", TIMESTAMP, None),
        ("yesterday", TIMESTAMP, None),
        (7, TIMESTAMP, None),
    ],
)
def test_values_have_their_type_or_are_null(value, kind, expected):
    assert expected == documents.typed(value, kind)


def test_rows_of_an_answer_know_their_server():
    answer = {"server": {"name": "s"}, "data": {"connections": [{"cid": 1}, "?", {"cid": 2}]}}

    assert [{"cid": 1, "server": {"name": "s"}}, {"cid": 2, "server": {"name": "s"}}] == (
        documents.rows_at(answer, "data.connections")
    )
    assert [] == documents.rows_at({"data": None}, "data.connections")
    assert [answer] == documents.rows_at(answer, "")


def test_ways_that_end_early():
    assert documents.value_at({"a": {"b": 1}}, "a.b") == 1
    assert documents.value_at({"a": {"b": 1}}, "a.b.c") is None
    assert documents.value_at([1], "a") is None


def test_every_view_has_columns_once_and_its_text():
    assert set(VIEWS) == {*SNAPSHOTS, *EVENTS}
    for name in VIEWS:
        columns = view_columns(name)
        assert len(set(columns)) == len(columns)
        assert "json" == columns[-1]


def test_columns_of_documents():
    view = View({"a": ("bigint", "x.a"), "json": ("string", "")})
    schema = pa.schema([("when", pa.string()), ("a", pa.int64()), ("json", pa.string())])
    batch = documents.columns_of(view, [{"x": {"a": 1}}, {}], schema, {"when": "now"})

    assert [
        {"when": "now", "a": 1, "json": '{"x": {"a": 1}}'},
        {"when": "now", "a": None, "json": "{}"},
    ] == batch.to_pylist()
