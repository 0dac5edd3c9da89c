"""The table in a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from framework.supervise.live_status import LiveStatus
from framework.supervise.machine import Phase
from framework.supervise.report import StatusReport
from framework.supervise.row import ServerRow
from framework.tests.supervise.shown_sections import MESH, mesh

SECOND_NS = 1_000_000_000
REPORT = StatusReport(pid=7, ready=True, client="127.0.0.1:5222", connections=3, sections=mesh(2))
READY = ServerRow(
    name="b-1",
    phase=Phase.READY,
    pid=7,
    report=REPORT,
    ready_since_ns=0,
    heard_ns=0,
    in_msgs_per_s=12_345,
)


def shown(
    monkeypatch: pytest.MonkeyPatch, *rows: ServerRow, at_s: float = 1, width: int = 160
) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    status = LiveStatus("world", Path("/var/log/world"), stream, [MESH])
    status.show(rows, int(at_s * SECOND_NS))
    status.close()
    return stream.getvalue()


def test_a_row_says_who_where_and_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, READY)

    row = next(line for line in text.splitlines() if "b-1" in line)
    words = ["b-1", "ready", "7", "127.0.0.1:5222", "127.0.0.1:5248", "3", "2", "12.3k", "0", "0"]
    assert row.split()[:11] == [*words, "1s"]
    assert "world: 1/1 ready, connections 3, routes 2" in text
    assert "logs in /var/log/world" in text
    assert "Ctrl-C stops all" in text


def test_http_has_a_column_only_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "http" not in shown(monkeypatch, READY)
    monitored = replace(READY, report=replace(REPORT, http="127.0.0.1:8222"))
    assert "127.0.0.1:8222" in shown(monkeypatch, monitored)


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (100, "server state pid client cluster conns routes in/s out/s restarts up"),
        (83, "server state pid client conns routes in/s out/s restarts up"),
        (70, "server state pid client conns routes in/s out/s up"),
        (63, "server state pid client conns routes in/s out/s"),
        (58, "server state client conns routes in/s out/s"),
        (36, "server state client conns"),
        (30, "server state client conns"),
    ],
)
def test_a_narrow_terminal_does_without_some_columns(
    monkeypatch: pytest.MonkeyPatch, width: int, titles: str
) -> None:
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown(monkeypatch, READY, width=width))
    head = next(line.split() for line in text.splitlines() if line.startswith("server"))
    row = next(line.split() for line in text.splitlines() if line.startswith("b-1"))
    assert head == titles.split()
    assert len(row) == len(head)
    address = row[head.index("client")]
    assert address == ("127.0.0.1:5222" if width > 30 else ":5222")


def with_routes(name: str, *peers: tuple[str, str, int], sought: tuple[str, ...] = ()) -> ServerRow:
    said = mesh(peers=peers, sought=sought)
    return replace(READY, name=name, report=replace(REPORT, sections=said))


def test_servers_with_the_same_lines_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [with_routes(f"b-{n}", ("all 11", "3/3", 100_000 * n)) for n in range(1, 13)]
    text = shown(monkeypatch, *rows)
    lines = {" ".join(line.split()) for line in text.splitlines() if "3/3" in line}
    assert lines == {"all 12 all 11 3/3 0.10-1.2 ms"}

    rows[3] = with_routes("b-4", ("b-10", "2/3", 0))
    text = shown(monkeypatch, *rows)
    assert "all 12" not in text
    assert any(line.split()[:3] == ["b-4", "b-10", "2/3"] for line in text.splitlines())
    assert "lacks one" in text


def test_a_server_that_has_just_started_misses_no_route(monkeypatch: pytest.MonkeyPatch) -> None:
    row = with_routes("b-1", sought=("h:1",))
    assert "no route" not in shown(monkeypatch, row, at_s=1)
    assert "no route to h:1" in shown(monkeypatch, replace(row, heard_ns=9 * SECOND_NS), at_s=9)


def test_servers_without_lines_have_no_such_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "routes of" not in shown(monkeypatch, READY)
    assert "routes of" not in shown(monkeypatch, with_routes("b-1"))


def test_why_a_server_is_down_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = ServerRow(name="b-1", phase=Phase.WAITING, problem="killed by SIGKILL", wait_s=0.5)

    assert "b-1: killed by SIGKILL, next launch in 0.5 s" in shown(monkeypatch, waiting)
    back = replace(READY, problem="killed by SIGKILL", restarts=1)
    assert "b-1: before: killed by SIGKILL" in shown(monkeypatch, back)


def test_a_silent_server_is_shown_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "silent" in shown(monkeypatch, READY, at_s=60)


def test_the_hint_follows_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "again kills" in shown(monkeypatch, replace(READY, phase=Phase.STOPPING))
    assert "Ctrl-C" not in shown(monkeypatch, replace(READY, phase=Phase.STOPPED))


def test_a_name_is_text_and_not_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "[bold]b" in shown(monkeypatch, replace(READY, name="[bold]b"))


def test_the_cursor_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, READY)

    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
