"""`-t` and `framework check` read the files that a start would read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from framework.cli import main, nats_server_main
from framework.testing.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a certificate."""
    monkeypatch.chdir(tmp_path)
    Authority(tmp_path).issue("server")
    return tmp_path


def test_all_files_that_are_wrong_are_told_with_their_places(capsys: Capture, folder: Path) -> None:
    (folder / "s.conf").write_text(
        "tls { cert_file: server.pem, key_file: none.key }\n"
        "cluster {\n  port: -1\n  tls { cert_file: server.pem, key_file: server.key,\n"
        "    ca_file: none.pem }\n}\n"
        "pid_file: none/s.pid\nlogfile: '.'\nports_file_dir: server.pem\n"
    )

    assert nats_server_main(["-t", "-c", "s.conf"]) == 1
    key, authority, *others = capsys.readouterr().err.splitlines()
    missing = "no such file or directory; name a file"
    assert key == (
        f"nats-server: s.conf:1:40: `tls.key_file`: can't read none.key: {missing}"
        " that the server may read"
    )
    assert authority == (
        f"nats-server: s.conf:5:14: `cluster.tls.ca_file`: can't use none.pem: {missing}"
        " with certificates in PEM"
    )
    assert others == [
        "nats-server: s.conf:8:10: `logfile`: . is a folder; name a file",
        "nats-server: s.conf:7:11: `pid_file`: there is no folder none; create it",
        "nats-server: s.conf:9:17: `ports_file_dir`: there is no folder server.pem; create it",
    ]


def test_several_pairs_are_told_by_their_list(capsys: Capture, folder: Path) -> None:
    pairs = "[{ cert_file: server.pem, key_file: none.key }]"
    (folder / "s.conf").write_text(f"tls {{\n  certs: {pairs}\n}}\n")

    assert nats_server_main(["-t", "-c", "s.conf"]) == 1
    assert capsys.readouterr().err.startswith("nats-server: s.conf:2:10: `tls.key_file`: can't")


def test_check_reads_the_files_of_servers_that_can_run_here(capsys: Capture, folder: Path) -> None:
    text = '[clusters.{}]\nhost = "{}"\nport = {}\npid_file = "none/{}.pid"\n'
    here, there = text.format("a", "127.0.0.1", 16101, "a"), text.format("b", "192.0.2.77", 1, "b")
    (folder / "t.toml").write_text(f"{here}{there}")

    assert main(["check", "t.toml"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("framework: t.toml:4:12: `pid_file`: there is no folder none")


def test_a_folder_that_may_not_be_written(
    capsys: Capture, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framework.server.start_files.os.access", lambda *_: False)  # as for root
    (folder / "s.conf").write_text("ports_file_dir: '.'\npid_file: server.pem\n")

    assert nats_server_main(["-t", "-c", "s.conf"]) == 1
    words = capsys.readouterr().err
    assert "`ports_file_dir`: no file can be made in .; let the server write there" in words
    assert "`pid_file`: server.pem can't be written; let the server write it" in words
