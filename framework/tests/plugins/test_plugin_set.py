from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from framework.errors import PluginError
from framework.hookspecs import hookimpl
from framework.plugins import LoadedPlugin, _loading
from framework.plugins._plugin_set import PluginSet

LINES = Path(__file__).read_text().splitlines()
PLUGIN = """
from framework import hookimpl

@hookimpl
def framework_taps(server):
    return []
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


@pytest.fixture
def entry(monkeypatch, path):
    """Make `mine` an installed plugin."""
    found = _loading.FoundPlugin("mine", "mine 1.0", lambda: _loading._import_file(path))
    monkeypatch.setattr("framework.plugins._plugin_set.installed_plugins", lambda: {"mine": found})


def names(plugins):
    return [plugin.name for plugin in plugins.plugins]


def test_plugins_are_listed_with_origin_file_and_hooks(path):
    plugins = PluginSet.load([str(path)], installed=False)

    assert plugins.plugins == (LoadedPlugin("mine", str(path), str(path), ("framework_taps",)),)


def test_installed_plugins_are_loaded_unless_a_list_stands_for_them(entry):
    assert names(PluginSet.load()) == ["mine"]
    assert names(PluginSet.load(installed=False)) == []


def test_a_folder_of_plugins_is_loaded(path):
    assert names(PluginSet.load(installed=False, folder=path.parent)) == ["mine"]


def test_naming_a_plugin_twice_is_no_matter(path, entry):
    assert names(PluginSet.load([str(path), str(path)], folder=path.parent)) == ["mine"]


def test_an_excluded_plugin_is_not_even_imported(path, entry):
    path.write_text("1 / 0")

    plugins = PluginSet.load(["mine", str(path)], excluded=["mine"], folder=path.parent)

    assert names(plugins) == []


def test_an_excluded_plugin_cannot_be_registered():
    plugins = PluginSet(excluded=["a"])
    plugins.register(object(), "a")

    assert names(plugins) == []


def test_two_plugins_of_one_name_are_refused():
    plugins = PluginSet()
    plugins.register(object(), "a", origin="here")

    with pytest.raises(PluginError, match=r"plugin a \(there\): is loaded already, from here"):
        plugins.register(object(), "a", origin="there")


def test_what_breaks_a_contract_is_refused_and_nothing_stays():
    class Wrong:
        @hookimpl
        def framework_taps(self, sever): ...

    plugins = PluginSet()
    with pytest.raises(PluginError, match="framework_taps takes sever"):
        plugins.register(Wrong, "wrong")

    assert plugins.plugins == ()


def test_what_fails_while_it_is_made_is_named_with_its_file():
    class Broken:
        def __init__(self):
            raise OSError("no luck")

    class Offering:
        @hookimpl
        def framework_addhooks(self):
            raise OSError("no luck")

    for plugin in (Broken, Offering):
        with pytest.raises(PluginError) as caught:
            PluginSet().register(plugin, "broken")

        line = (
            LINES.index(
                '            raise OSError("no luck")',
                LINES.index("    class " + plugin.__name__ + ":"),
            )
            + 1
        )
        assert str(caught.value) == (
            f"plugin broken ({__file__}:{line}): cannot be registered: OSError: no luck"
        )


def test_a_class_has_an_instance_in_each_plugins():
    class Plugin:
        def __init__(self):
            self.told = 0

        @hookimpl
        def framework_server_info(self):
            self.told += 1
            return {"told": self.told}

    sets = PluginSet(), PluginSet()
    for plugins in sets:
        plugins.register(Plugin, "p")

    assert [plugins.calls.describe("framework_server_info") for plugins in sets] == [
        [("p", {"told": 1})],
        [("p", {"told": 1})],
    ]


def test_what_has_no_file_is_registered_all_the_same():
    plugins = PluginSet()
    plugins.register(SimpleNamespace(), "a")

    assert plugins.plugins[0].hooks == ()
