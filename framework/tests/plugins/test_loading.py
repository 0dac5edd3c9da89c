from __future__ import annotations

import os
import sys

import pytest

from framework.errors import PluginError
from framework.plugins import _loading, _ownership
from framework.plugins._entry_points import EntryPoint
from framework.plugins._loading import find_plugin, folder_plugins, installed_plugins


def entry_point(name, value="json", distribution="some"):
    return EntryPoint(name, value, distribution, "1.0")


@pytest.fixture
def install(monkeypatch):
    def install(*points):
        monkeypatch.setattr(
            _loading, "entry_points", lambda _group: sorted(points, key=lambda point: point.name)
        )

    install()
    return install


def test_installed_plugins_are_found_in_order_and_imported_later(install):
    install(entry_point("b"), entry_point("a", "no.such"))

    found = installed_plugins()

    assert [(plugin.name, plugin.origin) for plugin in found.values()] == [
        ("a", "some 1.0"),
        ("b", "some 1.0"),
    ]
    assert found["b"].load() is sys.modules["json"]


def test_one_name_offered_by_two_distributions_is_an_error(install):
    install(entry_point("a", distribution="one"), entry_point("a", distribution="two"))

    with pytest.raises(PluginError, match=r"plugin a: is offered by one 1.0 as well as by two 1.0"):
        installed_plugins()


def test_an_entry_point_comes_before_a_module(install):
    install(entry_point("json", "re"))

    assert find_plugin("json").load() is sys.modules["re"]


def test_a_module_is_found_by_its_name(install):
    found = find_plugin("xml.dom")

    assert found.origin == "module xml.dom"
    assert found.load() is sys.modules["xml.dom"]


@pytest.mark.parametrize(
    ("names", "wanted", "fix"),
    [
        (["route", "auth"], "rout", "did you mean route?"),
        (["route", "auth"], "zzz", "installed are: auth, route"),
        (["route"], "zzz.yyy", "installed are: route"),
        ([], "..", "no plugin is installed"),
    ],
)
def test_who_is_not_there_is_told_who_is(install, names, wanted, fix):
    install(*(entry_point(name) for name in names))

    with pytest.raises(PluginError) as caught:
        find_plugin(wanted)

    assert (caught.value.problem, caught.value.fix) == ("is not installed", fix)


def test_a_file_is_named_after_its_stem_and_imported_once(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from __future__ import annotations\nimport dataclasses\nvalue = [__name__]\n")

    found = find_plugin(str(path))
    module = found.load()

    assert (found.name, found.origin) == ("mine", str(path))
    assert module.value == [module.__name__]
    assert find_plugin(str(path)).load() is module


def test_files_of_one_name_are_different_modules(tmp_path):
    paths = [tmp_path / "x" / "mine.py", tmp_path / "y" / "mine.py"]
    for path in paths:
        path.parent.mkdir()
        path.touch()

    one, two = (find_plugin(str(path)).load() for path in paths)

    assert one is not two


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def", "SyntaxError: invalid syntax"),
    ],
)
def test_what_cannot_be_imported_is_named_and_leaves_nothing(tmp_path, text, problem):
    path = tmp_path / "broken.py"
    path.write_text(text)
    before = set(sys.modules)

    with pytest.raises(PluginError) as caught:
        find_plugin(str(path)).load()

    assert str(caught.value).startswith(f"plugin broken ({path}:1): cannot be imported: {problem}")
    assert set(sys.modules) == before


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "no.py"

    with pytest.raises(PluginError) as caught:
        find_plugin(str(path))

    assert str(caught.value) == f"plugin no ({path}): no such file"


def test_a_folder_holds_plugins_without_underscore_in_order(tmp_path):
    for name in ("b.py", "a.py", "_private.py", "notes.txt"):
        (tmp_path / name).touch()

    assert [plugin.name for plugin in folder_plugins(tmp_path)] == ["a", "b"]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(PluginError, match="is not a folder; create it, or name another one"):
        folder_plugins(tmp_path / "no")


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path, mode):
    folder = tmp_path / "plugins"
    folder.mkdir()
    folder.chmod(mode)

    with pytest.raises(PluginError, match=rf"others may write it \(mode {mode:04o}\); chmod go-w "):
        folder_plugins(folder)
    folder.chmod(mode & ~0o022)
    assert folder_plugins(folder) == []


@pytest.mark.parametrize("name", ["mine.py", "_imported.py"])
def test_a_file_that_others_may_write_is_refused(tmp_path, name):
    file = tmp_path / name
    file.touch()
    file.chmod(0o664)

    with pytest.raises(PluginError, match=rf"{name}: others may write it \(mode 0664\)"):
        folder_plugins(tmp_path)


def test_a_link_is_judged_by_what_it_leads_to(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to("open")

    with pytest.raises(PluginError, match="others may write it"):
        folder_plugins(tmp_path / "link")


def test_a_folder_of_another_user_is_refused_and_roots_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    if tmp_path.stat().st_uid == 0:
        assert folder_plugins(tmp_path) == []
    monkeypatch.setattr(_ownership, "_ROOT", tmp_path.stat().st_uid + 2)
    with pytest.raises(PluginError, match=r"belongs to .*, who could change what .*; chown "):
        folder_plugins(tmp_path)
