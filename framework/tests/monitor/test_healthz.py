from __future__ import annotations

import asyncio
from typing import Any

import pytest

from framework.errors import BadQuery
from framework.monitor.healthz import answer_health_request, answer_healthz
from framework.monitor.options import HealthzOptions
from framework.monitor.request_options import options_from_query
from framework.spec import HealthProblem
from framework.tests.monitor.sources import Source


@pytest.mark.parametrize(
    ("problems", "query", "expected"),
    [
        ((), {}, (200, {"status": "ok"})),
        ((), {"details": "1"}, (200, {"status": "ok"})),
        (("a: bad", "b"), {}, (503, {"status": "unavailable", "error": "a: bad; b"})),
        (
            ("bad",),
            {"details": "1"},
            (503, {"status": "error", "errors": [{"type": "CONNECTION", "error": "bad"}]}),
        ),
    ],
)
def test_healthz(problems: tuple[str, ...], query: dict[str, str], expected: Any) -> None:
    source = Source()
    source.problems = problems
    answer = asyncio.run(answer_healthz(source, options_from_query(HealthzOptions, query)))  # type: ignore[arg-type]

    assert (answer.status, answer.document) == expected


@pytest.mark.parametrize(
    ("query", "missing", "subject"),
    [({"stream": "s"}, "account", "stream"), ({"consumer": "c"}, "stream", "consumer")],
)
def test_healthz_of_half_a_name(query: dict[str, str], missing: str, subject: str) -> None:
    problem = f'"{missing}" must not be empty when checking {subject} health'
    source: Any = Source()
    answer = asyncio.run(answer_healthz(source, options_from_query(HealthzOptions, query)))
    detailed = asyncio.run(
        answer_healthz(source, options_from_query(HealthzOptions, {**query, "details": "1"}))
    )

    assert (answer.status, answer.document) == (400, {"status": "error", "error": problem})
    assert detailed.document == {
        "status": "error",
        "errors": [{"type": "BAD_REQUEST", "error": problem}],
    }


def test_a_message_has_its_status_in_the_document() -> None:
    source: Any = Source()
    well = asyncio.run(answer_health_request(source, HealthzOptions()))
    source.problems = ("bad",)
    ill = asyncio.run(answer_health_request(source, HealthzOptions()))

    assert well == {"status": "ok", "status_code": 200}
    assert ill == {"status": "unavailable", "status_code": 503, "error": "bad"}


def test_healthz_refuses_flags_that_are_none() -> None:
    with pytest.raises(BadQuery):
        options_from_query(HealthzOptions, {"js-enabled-only": "x"})  # type: ignore[arg-type]


MISSING = HealthProblem(kind="STREAM", error="no S", account="A", stream="S", is_missing=True)
DAMAGED = HealthProblem(kind="CONSUMER", error="bad C", account="A", stream="S", consumer="C")


@pytest.mark.parametrize(
    ("found", "query", "expected"),
    [
        ((MISSING,), {}, (404, {"status": "unavailable", "error": "no S"})),
        ((DAMAGED, MISSING), {}, (404, {"status": "unavailable", "error": "bad C"})),
        ((DAMAGED,), {}, (503, {"status": "unavailable", "error": "bad C"})),
        ((DAMAGED,), {"js-server-only": "1"}, (200, {"status": "ok"})),
        ((DAMAGED,), {"js-enabled-only": "1"}, (200, {"status": "ok"})),
        ((DAMAGED,), {"js-enabled": "1"}, (200, {"status": "ok"})),
        ((DAMAGED,), {"js-meta-only": "1"}, (200, {"status": "ok"})),
        (
            (MISSING, DAMAGED),
            {"details": "1"},
            (
                404,
                {
                    "status": "error",
                    "errors": [
                        {"type": "STREAM", "account": "A", "stream": "S", "error": "no S"},
                        {
                            "type": "CONSUMER",
                            "account": "A",
                            "stream": "S",
                            "consumer": "C",
                            "error": "bad C",
                        },
                    ],
                },
            ),
        ),
    ],
)
def test_healthz_says_what_plugins_find_of_streams(
    found: tuple[HealthProblem, ...], query: dict[str, str], expected: Any
) -> None:
    source = Source()
    source.found = found
    answer = asyncio.run(answer_healthz(source, options_from_query(HealthzOptions, query)))  # type: ignore[arg-type]

    assert (answer.status, answer.document) == expected
