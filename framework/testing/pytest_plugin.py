"""The fixtures of the kit, for our tests and for those of plugin authors.

Loaded through pytest's entry point. A test that needs a real peer fails where there is none;
`--without-peers` skips it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

import pytest

from framework.testing import peers
from framework.testing.datadriven import run_commands
from framework.testing.errors import PeerMissingError
from framework.testing.fleet import OURS, Fleet
from framework.testing.nats_cli import NatsCli

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from framework.testing.datadriven import Command
    from framework.testing.server_process import ServerProcess

_FLEET = pytest.StashKey[Fleet]()


class StartServer(Protocol):
    """Starts a server as `Fleet.start` does."""

    def __call__(
        self,
        *flags: str,
        kind: str = ...,
        config: str | None = None,
        clustered: bool = False,
        port: int | None = -1,
    ) -> ServerProcess:
        """Start it; stopped at the end of the test."""


class RunScript(Protocol):
    """Runs a script of commands: see `framework.testing.datadriven`."""

    def __call__(self, name: str, handle: Callable[[Command], str]) -> None:
        """Run one in the folder `scripts` beside the test; fail with what differs."""


class StartCluster(Protocol):
    """Starts a full mesh of servers of ours."""

    def __call__(self, count: int = 3, *, flags: tuple[str, ...] = ()) -> list[ServerProcess]:
        """Start `count` servers; the first is the seed."""


class StartRealServer(Protocol):
    """Starts a real nats-server."""

    def __call__(
        self,
        version: str = "2.15.2",
        *flags: str,
        config: str | None = None,
        clustered: bool = False,
    ) -> ServerProcess:
        """Start it; stopped at the end of the test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the kit."""
    group = parser.getgroup("framework")
    group.addoption(
        "--without-peers",
        action="store_true",
        help="skip tests that need a real nats-server or nats CLI",
    )
    group.addoption(
        "--rewrite",
        action="store_true",
        help="write into scripts what the real server, or the machine under test, answers",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers of tests that need peers."""
    config.addinivalue_line("markers", "interop: needs real peers; fails where they are absent")
    config.addinivalue_line(
        "markers", "peer(*names): needs these programs: `2.15.2`, `2.9.10`, `2.8.4`, `nats`"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `interop` whatever needs a peer."""
    for item in items:
        if item.get_closest_marker("peer"):
            item.add_marker("interop")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Bring the peers that the collected tests need; a build takes longer than any test may."""
    if session.config.getoption("--without-peers") or session.config.getoption("--collect-only"):
        return
    needed = {
        name for item in session.items for mark in item.iter_markers("peer") for name in mark.args
    }
    for name in sorted(needed):
        # Each test that needs one that can't be had fails, and says why.
        with contextlib.suppress(PeerMissingError):
            peers.bring(name)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a peer, if that was asked for."""
    if item.config.getoption("--without-peers") and item.get_closest_marker("peer"):
        pytest.skip("--without-peers")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the logs of a failed test's servers."""
    report = yield
    fleet = item.stash.get(_FLEET, None)
    if fleet is not None and report.failed:
        for server in fleet.servers:
            report.sections.append((
                f"log of server {server.name}: {' '.join(server.command)}",
                server.log(),
            ))
    return report


@pytest.fixture
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    """Give a fleet whose servers stop, and are checked for leaks, when the test ends."""
    fleet = Fleet(tmp_path)
    request.node.stash[_FLEET] = fleet
    yield fleet
    fleet.stop()


@pytest.fixture
def start_server(fleet: Fleet) -> StartServer:
    """Give a function that starts a server with flags or a configuration."""
    return fleet.start


@pytest.fixture
def server(fleet: Fleet) -> ServerProcess:
    """Give one server of ours with default settings on a free port."""
    return fleet.start()


@pytest.fixture
def cluster(fleet: Fleet) -> StartCluster:
    """Give a function that starts a full mesh of servers of ours."""

    def start(count: int = 3, *, flags: tuple[str, ...] = ()) -> list[ServerProcess]:
        return fleet.start_cluster(*[OURS] * count, flags=flags)

    return start


@pytest.fixture
def real_server(fleet: Fleet) -> StartRealServer:
    """Give a function that starts a real nats-server; mark the test with `peer`."""

    def start(
        version: str = "2.15.2",
        *flags: str,
        config: str | None = None,
        clustered: bool = False,
    ) -> ServerProcess:
        return fleet.start(*flags, kind=version, config=config, clustered=clustered)

    return start


@pytest.fixture
def run_script(request: pytest.FixtureRequest) -> RunScript:
    """Give a function that runs a script of commands, and fails with the difference."""

    def run(name: str, handle: Callable[[Command], str]) -> None:
        path = request.path.parent / "scripts" / name
        rewrite = request.config.getoption("--rewrite")
        difference = run_commands(path, handle, rewrite=rewrite)
        if difference:
            pytest.fail(difference, pytrace=False)

    return run


@pytest.fixture
def nats_cli(tmp_path: Path) -> Iterator[NatsCli]:
    """Give the real `nats` tool; mark the test with `peer("nats")`."""
    cli = NatsCli(tmp_path)
    yield cli
    cli.stop()
