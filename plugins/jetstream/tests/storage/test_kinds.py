"""What a plugin may return as storage kinds, and who talks to one."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from framework_jetstream.storage.folder import Kept, KeptFolder, read_kept
from framework_jetstream.storage.kind_thread import KindThread
from framework_jetstream.storage.kinds import storage_kinds
from framework_jetstream.storage.records import StorageProblemError, number_of

from framework.errors import PluginError


class Kind:
    name = "box"

    def __init__(self, **other):
        self.segments = {}
        vars(self).update(other)

    def open(self, folder):
        self.folder = folder

    def write(self, name, data):
        self.segments[name] = data

    def read(self, name):
        return self.segments[name]

    def remove(self, names):
        for name in names:
            self.segments.pop(name, None)

    def close(self):
        pass


def kinds_of(*answers):
    hooks = SimpleNamespace(describe=lambda _, **more: list(answers))
    return storage_kinds(SimpleNamespace(hooks=hooks))


def test_kinds_of_several_plugins_are_found_by_name():
    box, shelf = Kind(), Kind(name="shelf")

    assert kinds_of(("a", [box]), ("b", iter([shelf]))) == {"box": box, "shelf": shelf}


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ([Kind(name="file")], "not file or memory"),
        ([Kind(name="Box")], "lower case letters"),
        ([Kind(name="../box")], "lower case letters"),
        ([Kind(name=None)], "must have a `name`"),
        ([Kind(read=None)], "the storage kind box has no `read`"),
        ([Kind(), Kind()], "brings the storage kind box, which is taken"),
        (7, "must return storage kinds, not 7"),
    ],
)
def test_what_is_no_kind_stops_the_start(kinds, words):
    with pytest.raises(PluginError, match=words):
        kinds_of(("a", kinds))


def test_numbers_of_kinds_stay_and_are_never_that_of_the_folder():
    assert number_of("") == 0
    assert number_of("box") == number_of("box") != number_of("shelf")


def test_a_thread_that_hangs_is_asked_for_nothing_more_until_it_goes_on():
    thread, gate, done = KindThread("box"), threading.Event(), threading.Event()
    with pytest.raises(StorageProblemError, match=r"has not answered for 0\.01 s"):
        thread.wait(gate.wait, 0.01)
    with pytest.raises(StorageProblemError, match="has still not answered"):
        thread.wait(lambda: 1, 60)
    thread.begin(lambda: 2, lambda _: done.set())
    gate.set()
    done.wait()

    assert thread.wait(lambda: 3, 60) == 3


def test_what_a_thread_raises_comes_to_who_asked():
    with pytest.raises(ZeroDivisionError):
        KindThread("box").wait(lambda: 1 // 0, 60)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments" / "0000000007-0000000003.seg").write_bytes(b"a segment")
    return KeptFolder(tmp_path)


def test_a_segment_goes_and_comes_back(folder):
    kind = Kind()
    kept = folder.hand_over(kind, 7, 3, "name")
    folder.let_go(7, 3)
    away = folder.here()
    folder.bring_back(kind, 7, 3, kept)
    back = folder.read(7, 3)
    folder.make()

    assert kept == Kept("box", "name", 9, kept.digest)
    assert (away, back, folder.here()) == ([], b"a segment", [(7, 3)])
    assert folder.kept == {(7, 3): kept}
    assert folder.kept_of(7, 4) is None


def test_a_segment_that_was_removed_goes_nowhere(folder):
    kind = Kind()

    assert folder.hand_over(kind, 7, 4, "name") is None
    assert not kind.segments
    assert folder.kept_of(7, 4) is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a segment"[:-1] + b"u", "is not what was written: other bytes came back"),
        (b"a segment"[:-1], "8 of 9 bytes came back"),
        (b"", "0 of 9 bytes came back"),
        (None, "NoneType came, not bytes"),
    ],
)
def test_a_kind_that_gives_something_else_back_is_found_at_once(folder, data, words):
    kind = Kind(read=lambda _: data)
    with pytest.raises(StorageProblemError, match=words):
        folder.hand_over(kind, 7, 3, "name")

    assert folder.here() == [(7, 3)]


def test_what_was_begun_and_not_finished_is_known(folder):
    def fail(name, data):
        raise OSError("no space")

    kind = Kind(write=fail)
    with pytest.raises(StorageProblemError, match="writing name: OSError: no space"):
        folder.hand_over(kind, 7, 3, "name")
    kept = folder.kept_of(7, 3)
    folder.forget(kind, {(7, 3): "name"})

    assert kept is not None
    assert (folder.here(), folder.kept_of(7, 3)) == ([], None)
    with pytest.raises(StorageProblemError, match="reading name: KeyError"):
        read_kept(kind, kept)
