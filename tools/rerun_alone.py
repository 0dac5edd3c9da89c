"""Runs failed tests once more, each alone: one that passes then is flaky, and the run is green.

A plugin of pytest: `-p tools.rerun_alone --rerun-alone=all`, or with a mark in place of `all`.
Tests run again after all others have ended, each in a process of its own, with the seed of the
run. The run ends with a table of those that were flaky, and how each of them failed.

pytest-rerunfailures runs a test again at once, beside whatever other workers of xdist are busy
with, and with the fixtures of its module as the failure left them.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

FLAKY_MAX = 3
"""In one run; with more of them, it is not chance."""
RERUNS_MAX = 10
"""In one run; when more tests have failed, none runs again."""
RERUN_LIMIT_S = 300.0
"""For one test with its collection; a test may take 60 s."""
COLUMN_MAX = 90
"""Characters of a test's name in the table, unless the name is longer."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that switches this on."""
    parser.addoption(
        "--rerun-alone",
        default="",
        metavar="all|MARK",
        help="run failed tests (those with MARK) once more, each alone, after all others",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run where the results come together, which workers of xdist do not."""
    if config.getoption("--rerun-alone") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(RerunAlone(config))


class RerunAlone:
    """Remembers what failed, and runs it again at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._mark: str = config.getoption("--rerun-alone")
        self._failed: dict[str, pytest.TestReport] = {}
        """The first failure of each test that may run again."""
        self._flaky: dict[str, pytest.TestReport] = {}
        self._hopeless = False
        """Something failed that does not run again."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a failure in any phase of a test."""
        if not report.failed:
            return
        if self._mark == "all" or self._mark in report.keywords:
            self._failed.setdefault(report.nodeid, report)
        else:
            self._hopeless = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that a module could not be collected."""
        self._hopeless |= report.failed

    @pytest.hookimpl(trylast=True)  # when the workers of xdist are gone
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Run again what failed, and let chance be no reason to fail."""
        cut_short = session.shouldfail or session.shouldstop
        if exitstatus != pytest.ExitCode.TESTS_FAILED or cut_short:
            return
        if len(self._failed) > RERUNS_MAX:
            self._say(f"{len(self._failed)} tests failed: too many to run each again")
            return
        self._say("")
        for nodeid, report in self._failed.items():
            passed = self._passes_alone(nodeid)
            self._say(f"{nodeid}: {'passed' if passed else 'failed again'} alone")
            if passed:
                self._flaky[nodeid] = report
        self._count_as_flaky()
        by_chance = self._failed.keys() == self._flaky.keys() and not self._hopeless
        if by_chance and len(self._flaky) <= FLAKY_MAX:
            session.exitstatus = pytest.ExitCode.OK

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show how flaky tests failed, and the table of them."""
        if not self._flaky:
            return
        for nodeid, report in self._flaky.items():
            terminalreporter.section(f"flaky: {nodeid}", "_")
            report.toterminal(terminalreporter._tw)  # noqa: SLF001 - as pytest's own plugins do
            for title, text in report.sections:
                terminalreporter.section(title, "-")
                terminalreporter.write_line(text)
        terminalreporter.section("flaky")
        for line in table((nodeid, reason(report)) for nodeid, report in self._flaky.items()):
            terminalreporter.write_line(line)
        if len(self._flaky) > FLAKY_MAX:
            terminalreporter.write_line(f"more than {FLAKY_MAX} are not chance", red=True)

    def _passes_alone(self, nodeid: str) -> bool:
        config = self._config
        path, colons, rest = nodeid.partition("::")
        positional = config.getoption("file_or_dir")
        options = [str(word) for word in config.invocation_params.args if word not in positional]
        options.append("--rerun-alone=")
        if hasattr(config.option, "numprocesses"):  # xdist
            options.append("-n0")
        if hasattr(config.option, "randomly_seed"):
            options.append(f"--randomly-seed={config.option.randomly_seed}")
        try:
            done = subprocess.run(
                [
                    *(sys.executable, "-m", "pytest"),
                    *options,
                    f"{config.rootpath / path}{colons}{rest}",
                ],
                cwd=config.invocation_params.dir,
                check=False,
                capture_output=True,
                timeout=RERUN_LIMIT_S,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == pytest.ExitCode.OK

    def _count_as_flaky(self) -> None:
        """Let the last line, and the list of failures, tell flaky tests apart."""
        terminal = self._terminal()
        if terminal is None:
            return
        for outcome in ("failed", "error"):
            reports = terminal.stats.get(outcome, [])
            reports[:] = [each for each in reports if each.nodeid not in self._flaky]
        if self._flaky:
            terminal.stats["flaky"] = list(self._flaky.values())

    def _say(self, line: str) -> None:
        if terminal := self._terminal():
            terminal.write_line(line)

    def _terminal(self) -> pytest.TerminalReporter | None:
        plugin: pytest.TerminalReporter | None
        plugin = self._config.pluginmanager.getplugin("terminalreporter")
        return plugin


def reason(report: pytest.TestReport) -> str:
    """Return in one line how a test failed."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return next((line for line in text.splitlines() if line.strip()), "it does not say")


def table(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of a table of what was flaky, and how it failed."""
    rows = [("test", "how it failed"), *rows]
    width = max(len(name) for name, _ in rows if len(name) <= COLUMN_MAX)
    return [f"{name:{width}}  {how}" for name, how in rows]
