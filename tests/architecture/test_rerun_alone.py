"""A test that failed by chance does not cost the run, and one that fails does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import rerun_alone

pytest_plugins = ["pytester"]

BY_CHANCE = """
    from pathlib import Path

    import pytest

    def first(name):
        seen = Path(__file__).with_name(name)
        try:
            return not seen.exists()
        finally:
            seen.touch()
"""
"""`first(name)` is true once."""

ONCE = """
    @pytest.mark.sim
    def test_{name}():
        assert not first("{name}"), "by chance: {name}"
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run tests in a process of their own, with the plugin."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a quarter of the time
    monkeypatch.setenv("PYTHONPATH", str(Path(rerun_alone.__file__).parents[1]))
    pytester.makeini("[pytest]\nmarkers = sim\n")

    def run(text, *options, rerun="all"):
        pytester.makepyfile(test_it=BY_CHANCE + text)
        plugins = ("-p", "xdist", "-p", "pytest_randomly", "-p", "tools.rerun_alone")
        return pytester.runpytest_subprocess(*plugins, f"--rerun-alone={rerun}", *options)

    return run


def some(count):
    return "".join(ONCE.format(name=name) for name in "abcdefghijklmnop"[:count])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_what_passes_alone_is_flaky(run, workers):
    result = run(ONCE.format(name="a") + "\n    def test_b(): pass\n", workers)

    assert result.ret == 0
    result.stdout.fnmatch_lines([
        "test_it.py::test_a: passed alone",
        "*flaky: test_it.py::test_a*",
        "E * by chance: a",
        "=* flaky *=",
        "test * how it failed",
        "test_it.py::test_a  AssertionError: by chance: a",
        "=* 1 passed, 1 flaky in *",
    ])


def test_what_fails_again_fails(run):
    result = run(ONCE.format(name="a") + '\n    def test_b(): assert 0, "always"\n')

    assert result.ret == 1
    result.stdout.fnmatch_lines(["test_it.py::test_b: failed again alone"])
    result.stdout.fnmatch_lines(["E * always", "=* flaky *=", "=* 1 failed, 1 flaky in *"])


def test_more_than_three_flaky_fail(run):
    result = run(some(4))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["more than 3 are not chance", "=* 4 flaky in *"])


def test_three_flaky_pass(run):
    result = run(some(3))

    assert result.ret == 0
    result.assert_outcomes()


def test_too_many_failures_do_not_run_again(run):
    result = run(some(11))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["11 tests failed: too many to run each again"])
    result.assert_outcomes(failed=11)


def test_only_what_has_the_mark_runs_again(run):
    unmarked = ONCE.format(name="b").replace("@pytest.mark.sim", "")

    assert run(ONCE.format(name="a"), rerun="sim").ret == 0
    result = run(ONCE.format(name="c") + unmarked, rerun="sim")
    assert result.ret == 1
    result.stdout.no_fnmatch_line("*test_b: * alone")


def test_errors_of_fixtures_run_again(run):
    result = run("""
    @pytest.fixture
    def before():
        assert not first("before"), "before"

    @pytest.fixture
    def after():
        yield
        assert not first("after"), "after"

    def test_before(before): pass
    def test_after(after): pass
    """)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["=* 1 passed, 2 flaky in *"])
    result.stdout.fnmatch_lines_random([
        "test_it.py::test_before  AssertionError: before",
        "test_it.py::test_after*  AssertionError: after",
    ])


def test_tests_run_alone_with_the_same_seed_and_options(run):
    result = run(
        """
    import os, random, sys

    @pytest.mark.parametrize("text", ["a b"])
    def test_a(text, request):
        drawn = f"{os.getpid()} {random.random()} {request.config.getoption('-W')}"
        seen = Path(__file__).with_name("drawn")
        if not seen.exists():
            seen.write_text(drawn)
            assert 0
        pid, *rest = seen.read_text().split()
        assert os.getpid() != int(pid)
        assert drawn.split()[1:] == rest

    def test_b(): pass
    """,
        "-W",
        "error",
        "test_it.py",
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_it.py::test_a?a b?: passed alone"])


def test_a_worker_that_dies_is_a_failure_that_runs_again(run):
    result = run(
        """
    import os

    def test_a():
        if first("a"):
            os._exit(1)
    """,
        "-n1",
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_it.py::test_a  worker 'gw0' crashed while running *"])


@pytest.mark.parametrize(
    "text", ["raise ValueError", "@pytest.mark.sim\n    def test_a(): assert 0"]
)
def test_what_cannot_run_again_fails(run, text):
    assert run(f"    {text}\n").ret != 0


def test_a_run_that_was_cut_short_stays_so(run):
    result = run(some(3), "-x")

    assert result.ret == 1
    result.stdout.no_fnmatch_line("* alone")


def test_without_the_option_nothing_runs_again(run):
    result = run(ONCE.format(name="a"), rerun="")

    assert result.ret == 1
    result.assert_outcomes(failed=1)
