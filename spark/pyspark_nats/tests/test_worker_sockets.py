"""Where the sockets of workers are."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest
from pyspark_nats import worker_sockets


@pytest.fixture(autouse=True)
def new_folder():
    """Let nothing be known of a folder, before and after."""
    worker_sockets._folder.cache_clear()
    yield
    worker_sockets._folder.cache_clear()


def test_only_this_user_may_open_them(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    folder = Path(worker_sockets.socket_settings()["spark.python.unix.domain.socket.dir"])

    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IRWXU
    assert worker_sockets.socket_settings()["spark.python.unix.domain.socket.dir"] == str(folder)


def test_a_process_that_ends_at_once_leaves_no_folder(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    worker_sockets.remove_sockets()
    folder = Path(worker_sockets.socket_settings()["spark.python.unix.domain.socket.dir"])

    worker_sockets.remove_sockets()

    assert not folder.exists()


def test_a_folder_whose_name_is_too_long_for_a_socket_has_none(tmp_path, monkeypatch):
    long = tmp_path / ("n" * 80)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))

    assert worker_sockets.socket_settings() == {}
