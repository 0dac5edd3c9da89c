"""Where control sockets lie, and whose are believed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framework.supervise import control_path
from framework.supervise.control_path import clear_stale_sockets, make_socket_path, socket_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "shop.toml"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with room for sockets, the only one there is."""
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        monkeypatch.setattr(tempfile, "gettempdir", lambda: name)
        yield Path(name)


def test_a_folder_of_the_user_alone_is_made(folder: Path) -> None:
    path = make_socket_path(FILE)

    assert path.parent == folder / f"framework-{os.geteuid()}"
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_folder_of_the_service_comes_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", f"{folder}/service:{folder}/other")
    monkeypatch.setenv("XDG_RUNTIME_DIR", f"{folder}")

    assert make_socket_path(FILE).parent == folder / "service"


def test_root_finds_what_a_service_of_systemd_has_made_for_its_own_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = folder / "run" / "east"
    service.mkdir(mode=0o700, parents=True)
    monkeypatch.setattr(control_path, "_SERVICE_FOLDER", folder / "run")
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(service))
    path = make_socket_path(FILE)
    path.touch()
    if os.geteuid() == 0:
        os.chown(service, 65_534, -1)
    monkeypatch.delenv("RUNTIME_DIRECTORY")

    assert socket_paths(FILE) == [(os.getpid(), path)]


def test_a_path_that_is_too_long_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", f"{folder}/{'x' * 100}")

    assert make_socket_path(FILE).parent == folder / f"framework-{os.geteuid()}"


def test_a_folder_that_others_may_write_to_is_not_used_nor_believed(folder: Path) -> None:
    path = make_socket_path(FILE)
    path.touch()
    assert socket_paths(FILE) == [(os.getpid(), path)]
    path.parent.chmod(0o777)

    assert socket_paths(FILE) == []
    with pytest.raises(PermissionError, match="others may write to it"):
        make_socket_path(FILE)


def test_a_link_is_no_folder(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / f"framework-{os.geteuid()}").symlink_to(folder / "real")

    with pytest.raises(NotADirectoryError):
        make_socket_path(FILE)


def test_sockets_belong_to_a_file_wherever_it_is_named_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_socket_path(str(folder / FILE))
    path.touch()
    monkeypatch.chdir(folder)

    assert socket_paths(FILE) == [(os.getpid(), path)]
    assert socket_paths("other.toml") == []


def test_sockets_of_processes_that_are_gone_are_taken_away(folder: Path) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    ours = make_socket_path(FILE)
    ours.touch()
    theirs = ours.with_name(f"{'0' * 16}-{child}.sock")
    theirs.touch()
    clear_stale_sockets()

    assert ours.exists()
    assert not theirs.exists()
