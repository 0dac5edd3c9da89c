"""Classes that Java has read once: which options a start gets, and what cannot be made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")
archive = pytest.importorskip("pyspark_nats.class_archive")
java = pytest.importorskip("pyspark_nats.java")
errors = pytest.importorskip("pyspark_nats.errors")

OLD = java.Java("/usr/bin/java", 'openjdk version "17.0.15" 2025-04-15\n', None)
NEW = java.Java("/wheel/java", 'openjdk version "25.0.2" 2026-01-20 LTS\n', None)
QUERY = """
print(spark.range(10).agg(F.sum("id")).first()[0])
options = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
print([it for it in options.getInputArguments() if it.endswith(".jsa")])
"""


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Return the folder of an environment that has nothing yet."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.delenv("PYSPARK_NATS_CLASS_ARCHIVE", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_402", 8), ("17.0.15", 17), ("25.0.2", 25), ("x", 0)]
)
def test_versions_of_java(version, major):
    assert java.Java("java", f'openjdk version "{version}"', None).major == major


def test_a_java_is_known_by_its_file(tmp_path, monkeypatch):
    command = tmp_path / "bin" / "java"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\nexit 1\n")
    command.chmod(0o700)
    (tmp_path / "release").write_text('OTHER_VERSION="22.1"\nJAVA_VERSION="17.0.15"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert java.find_java().major == 17
    assert java.find_java().command == str(command)


@pytest.mark.parametrize("it", [OLD, NEW])
def test_a_start_without_an_archive_is_as_ever(prefix, it):
    assert archive.archive_options(it) == ""


def test_each_java_has_its_own_archive(prefix):
    for it, option in ((OLD, "SharedArchiveFile"), (NEW, "AOTCache")):
        path = archive.archive_of(it)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

        assert prefix in path.parents
        assert f'"-XX:{option}={path}"' in archive.archive_options(it)
    assert archive.archive_of(OLD) != archive.archive_of(NEW)
    assert archive.archive_of(OLD) != archive.archive_of(OLD._replace(version="17.0.16"))


@pytest.mark.parametrize(("it", "option"), [(OLD, "ArchiveClassesAtExit"), (NEW, "AOTCacheOutput")])
def test_who_makes_one_does_not_use_one(prefix, monkeypatch, it, option):
    archive.archive_of(it).parent.mkdir(parents=True)
    archive.archive_of(it).touch()
    monkeypatch.setenv("PYSPARK_NATS_CLASS_ARCHIVE", "/tmp/made")

    assert archive.archive_options(it) == f'"-XX:{option}=/tmp/made"'


def test_what_java_says_is_told_and_nothing_is_left(prefix, monkeypatch):
    monkeypatch.setattr(archive, "find_java", lambda: OLD)
    failed = subprocess.CompletedProcess([], 1, "out of memory")
    monkeypatch.setattr(archive.subprocess, "run", lambda *_, **__: failed)

    with pytest.raises(errors.NatsSourceError, match="no archive of classes: out of memory"):
        archive.prepare()
    assert not [it for it in prefix.rglob("*") if it.is_file()]


def test_an_environment_of_others_is_left_alone(prefix, monkeypatch):
    monkeypatch.setattr(archive, "find_java", lambda: OLD)
    (prefix / "share").write_text("in the way")

    with pytest.raises(errors.NatsSourceError, match="one that you may write to"):
        archive.prepare()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_shell_starts_by_what_was_prepared(tmp_path):
    path = archive.archive_of(java.find_java())
    had_one = path.exists()
    prepared = subprocess.run(
        [sys.executable, "-m", "framework", "spark", "prepare"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        assert 0 == prepared.returncode, prepared.stderr
        assert str(path) in prepared.stdout
        done = subprocess.run(
            [sys.executable, "-m", "framework", "spark", "shell", "--memory", "512m"],
            input=QUERY,
            env=os.environ,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        if not had_one:
            Path(path).unlink(missing_ok=True)

    assert 0 == done.returncode, done.stderr
    assert "45" in done.stdout
    assert str(path) in done.stdout
