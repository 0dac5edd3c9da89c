from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from structlog.typing import BindableLogger

from framework.server.logging.log_limiter import LINES_MAX
from framework.server.logging.logs import FIELDS, Logs, LogSettings
from framework.spec.tracing import TRACE_LEVEL

if TYPE_CHECKING:
    from pathlib import Path

SECOND_NS = 1_000_000_000


def settings(path: Path, **changes: object) -> LogSettings:
    return LogSettings(log_file=str(path), logtime_utc=True, **changes)  # type: ignore[arg-type]


def logged(path: Path) -> list[str]:
    return [line.split("] ", 2)[-1] for line in path.read_text().splitlines()]


def test_levels(tmp_path: Path) -> None:
    path = tmp_path / "log"
    logs = Logs(settings(path), clock_ns=lambda: 0)
    log = logs.log.bind(server="s1")
    for word in ("debug", "info", "warning", "error", "critical"):
        getattr(log, word)("Hello")
    logs.close()

    labels = [line.split()[3] for line in path.read_text().splitlines()]
    assert labels == ["[INF]", "[WRN]", "[ERR]", "[FTL]"]
    assert logged(path)[0] == "Hello server=s1"


def test_a_logger_that_is_held_follows_a_reload(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    logs = Logs(settings(first), clock_ns=lambda: 0)
    log = logs.log
    log.debug("Unseen")
    logs.configure(settings(second, debug=True))
    log.debug("Seen")
    logs.configure(settings(second, trace=True))
    log.log(TRACE_LEVEL, "Traced")
    log.debug("Unseen")
    logs.configure(settings(second))
    log.log(TRACE_LEVEL, "Untraced")
    logs.close()

    assert first.read_text() == ""
    assert logged(second) == ["Seen", "Traced"]


def test_a_log_file_that_cannot_be_opened_changes_nothing(tmp_path: Path) -> None:
    logs = Logs(settings(tmp_path / "log"), clock_ns=lambda: 0)
    with pytest.raises(OSError, match="No such file"):
        logs.configure(settings(tmp_path / "absent" / "log"))
    logs.log.info("Still here")
    logs.close()

    assert logged(tmp_path / "log") == ["Still here"]


def test_json(tmp_path: Path) -> None:
    logs = Logs(settings(tmp_path / "log", json=True), clock_ns=lambda: 0)
    logs.log.info("Listening on {address}", address="h:1")
    logs.close()

    document = json.loads((tmp_path / "log").read_text())
    assert document["event"] == "Listening on h:1"
    assert document["address"] == "h:1"


def test_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    Logs(clock_ns=lambda: 0).log.info("Hello")

    assert capfd.readouterr().err.endswith("[INF] Hello\n")


def test_repeated_complaints_are_held_back(tmp_path: Path) -> None:
    now_ns = 0
    logs = Logs(settings(tmp_path / "log"), clock_ns=lambda: now_ns)
    for number in range(LINES_MAX + 5):
        logs.log.error("Bad {detail}", detail=number)
    now_ns = 2 * SECOND_NS
    logs.log.error("Bad {detail}", detail="again")
    logs.close()

    lines = logged(tmp_path / "log")
    assert len(lines) == LINES_MAX + 2
    assert lines[-2:] == ["5 more lines like: Bad {detail}", "Bad again"]


def test_reopen(tmp_path: Path) -> None:
    path = tmp_path / "log"
    logs = Logs(settings(path), clock_ns=lambda: 0)
    path.rename(tmp_path / "old")

    assert logs.reopen()
    logs.log.info("Hello")
    logs.close()

    assert logged(path) == ["Hello"]
    assert not logs.reopen()


def test_an_exception_is_shown_with_its_origin(tmp_path: Path) -> None:
    logs = Logs(settings(tmp_path / "log"), clock_ns=lambda: 0)
    try:
        _ = 1 // 0
    except ZeroDivisionError:
        logs.log.exception("It failed", plugin="audit")
    logs.close()

    first, second = logged(tmp_path / "log")
    assert first.startswith("It failed plugin=audit error=ZeroDivisionError(")
    assert re.fullmatch(r'  File ".*test_logs.py", line \d+, in test_an_exception_.*', second)


def test_every_field_says_what_it_is() -> None:
    assert all(name.islower() and text for name, text in FIELDS.items())


def test_a_logger_keeps_the_interface_of_structlog(tmp_path: Path) -> None:
    logs = Logs(settings(tmp_path / "log"), clock_ns=lambda: 0)
    log = logs.log.bind(one=1, two=2)
    log.unbind("one").info("Unbound")
    log.try_unbind("one", "none").info("Tried")
    log.new(three=3).info("New")
    with pytest.raises(KeyError, match="none"):
        log.unbind("one", "none")
    logs.close()

    assert isinstance(log, BindableLogger)
    assert logged(tmp_path / "log") == ["Unbound two=2", "Tried two=2", "New three=3"]


FOREIGN = """
import logging, sys
{before}
from pathlib import Path
from framework.server.logging.logs import Logs, LogSettings
logs = Logs(LogSettings(log_file=sys.argv[1]))
logs.carry_global_loggers()
assert ("structlog" in sys.modules) is bool({before!r})
{after}
logs.close()
"""


def run_foreign(path: Path, before: str, after: str) -> list[str]:
    code = FOREIGN.format(before=before, after=after)
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    return logged(path)


def test_what_is_logged_through_structlog_comes_here(tmp_path: Path) -> None:
    """In a process of its own: what is configured there is global."""
    after = "structlog.get_logger().bind(plugin='mine').warning('Hello', count=1)"

    lines = run_foreign(tmp_path / "log", "import structlog", after)

    assert lines == ["Hello plugin=mine count=1"]


def test_what_is_logged_through_the_standard_library_comes_here_with_its_origin(
    tmp_path: Path,
) -> None:
    after = (
        "try: raise ValueError('why')\n"
        "except ValueError: logging.getLogger('mine').exception('failed: %s', 'it')"
    )

    first, *rest = run_foreign(tmp_path / "log", "", after)

    assert first == "mine: failed: it error=ValueError('why')"
    assert rest == ['  File "<string>", line 9, in <module>']


@pytest.mark.parametrize("program", ["import structlog, framework", "import framework, structlog"])
def test_an_application_has_structlog_as_it_is(program: str) -> None:
    code = f"{program}, framework.server, rich; assert structlog.dev.rich is rich"

    subprocess.run([sys.executable, "-c", code], check=True)
