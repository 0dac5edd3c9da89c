from __future__ import annotations

from pathlib import Path

import pytest

from framework.tests.topology.conftest import ACCOUNTS, CLUSTER
from framework.topology.reference import main, render_reference

ROOT = Path(__file__).parents[3]


def test_the_page_in_docs_is_up_to_date(monkeypatch):
    monkeypatch.chdir(ROOT)

    assert main(["--check"]) == 0


def test_a_page_that_is_out_of_date(tmp_path, capsys):
    page = tmp_path / "OPTIONS.md"

    assert main(["--check", str(page)]) == 1
    assert "is out of date" in capsys.readouterr().err
    assert main([str(page)]) == 0
    assert main(["--check", str(page)]) == 0


@pytest.mark.parametrize(
    "line",
    [
        (
            "| `host`, `net` | text | `0.0.0.0` | `-a` `-addr` `-net` | restart |"
            " Address that clients connect to |"
        ),
        "| `max_pending` | size | `64MB` |",
        "| `ping_interval` | duration | `2m0s` |",
        "| `write_timeout` | `default` `close` `retry` | `default` |",
        "## `cluster`, of the route plugin",
        "### `cluster.authorization`",
        "| `password` | text |  |",
        "| `retries` | number of attempts | `0` |",
        "- `-quick`: Three tries",
        "| `no_auth_user` | text |",
    ],
)
def test_every_option_has_a_row(line):
    assert line in render_reference([CLUSTER, ACCOUNTS])


def test_what_is_refused_has_none():
    assert "syslog" not in render_reference([CLUSTER])
