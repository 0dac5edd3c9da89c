"""Beside `importlib.metadata`, whose answers are the expected ones."""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from framework.plugins._entry_points import EntryPoint, entry_points


def expected(group):
    found = importlib.metadata.entry_points(group=group)
    return sorted((it.name, it.value, it.dist.name, it.dist.version) for it in found)


def answered(group):
    return sorted((it.name, it.value, it.distribution, it.version) for it in entry_points(group))


def install(place, name, version, text, *, is_checkout=False):
    stem = name.replace("-", "_")
    folder = place / (f"{stem}.egg-info" if is_checkout else f"{stem}-{version}.dist-info")
    folder.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: not this one\n"
    (folder / ("PKG-INFO" if is_checkout else "METADATA")).write_text(head)
    (folder / "entry_points.txt").write_text(text)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Two folders that are all there is on the path, but for the standard library."""
    places = [tmp_path / "one", tmp_path / "two"]
    for place in places:
        place.mkdir()
    kept = [place for place in sys.path if "site-packages" not in place and Path(place).is_dir()]
    monkeypatch.setattr(sys, "path", [*map(str, places), str(tmp_path / "absent"), *kept])
    return places


@pytest.mark.parametrize("group", ["framework", "console_scripts", "pytest11", "no.such"])
def test_what_is_installed_here(group):
    assert answered(group) == expected(group)
    assert group == "no.such" or answered(group)


def test_a_distribution_hides_its_namesake_further_down_the_path(path):
    install(path[0], "my-plugin", "2.0", "[framework]\nmine = new\n")
    install(path[1], "My.Plugin", "1.0", "[framework]\nmine = old\n")
    install(path[1], "other", "1.0", "[framework]\nother = there\n")

    assert entry_points("framework") == [
        EntryPoint("mine", "new", "my-plugin", "2.0"),
        EntryPoint("other", "there", "other", "1.0"),
    ]


def test_a_checkout_that_is_installed_as_editable_is_one_distribution(path):
    install(path[0], "my-plugin", "1.0", "[framework]\nmine = new\n")
    install(path[1], "my-plugin", "1.0", "[framework]\nmine = new\n", is_checkout=True)

    assert answered("framework") == [("mine", "new", "my-plugin", "1.0")]
    assert answered("framework") == expected("framework")


def test_the_lines_of_a_file(path):
    text = """
[console_scripts]
mine = no:main
[framework]
# mine = a comment
; mine = another
 spaced  =  package.module : attribute.inner
extra = module [one,two]
no value here

[more]
last = no
"""
    install(path[0], "some", "1.0", text)

    assert answered("framework") == [
        ("extra", "module", "some", "1.0"),
        ("spaced", "package.module : attribute.inner", "some", "1.0"),
    ]


def test_a_zipped_distribution_is_found_too(path, tmp_path):
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped-1.0.dist-info/METADATA", "Name: zipped\nVersion: 1.0\n")
        file.writestr("zipped-1.0.dist-info/entry_points.txt", "[framework]\nmine = there\n")
    sys.path.append(str(archive))

    assert answered("framework") == [("mine", "there", "zipped", "1.0")]


def test_a_finder_of_somebody_elses_is_asked(path, monkeypatch):
    class Finder:
        def find_distributions(self, context=None):
            return importlib.metadata.MetadataPathFinder.find_distributions(
                importlib.metadata.DistributionFinder.Context(path=[str(path[0] / "hidden")])
            )

        def find_spec(self, *_):
            return None

    install(path[0] / "hidden", "frozen", "1.0", "[framework]\nmine = there\n")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])

    assert answered("framework") == [("mine", "there", "frozen", "1.0")]


@pytest.mark.parametrize(
    ("value", "expected_object"),
    [("json", "json"), ("json:loads", "json.loads"), ("os : path.join ", "os.path.join")],
)
def test_an_entry_point_is_imported(value, expected_object):
    module, _, rest = expected_object.partition(".")
    found = __import__(module)
    for name in filter(None, rest.split(".")):
        found = getattr(found, name)

    assert EntryPoint("x", value, "some", "1.0").load() is found
