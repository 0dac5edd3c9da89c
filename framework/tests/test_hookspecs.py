"""Every hook is documented, as it is, and tested."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from framework import hookspecs
from framework.plugins import PluginRegistry

HOOKS = {name: item for name, item in vars(hookspecs).items() if hasattr(item, "framework_spec")}
KINDS = {"Assembly", "Choice", "Notice"}
REGISTRY_TESTS = Path(__file__).with_name("plugins") / "test_registry.py"

each_hook = pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)


def test_there_are_hooks_and_nothing_else():
    functions = [name for name, item in vars(hookspecs).items() if inspect.isfunction(item)]

    assert functions == list(HOOKS)
    assert all(name.startswith("framework_") for name in HOOKS)


@each_hook
def test_says_what_kind_it_is_and_when_it_is_called(hook):
    first, contract = inspect.getdoc(hook).split("\n\n")[:2]

    assert re.fullmatch(r"[A-Z][^\n]*\.", first)
    assert contract.split(".")[0] in KINDS
    assert "Called " in contract


@each_hook
def test_documents_the_arguments_that_it_has(hook):
    documented = re.findall(r"^    (\w+): ", inspect.getdoc(hook), re.MULTILINE)

    assert documented == list(inspect.signature(hook).parameters)


@each_hook
def test_a_notice_returns_nothing_and_what_describes_returns_something(hook):
    returned = inspect.signature(hook).return_annotation
    describes = (
        inspect.getdoc(hook).split("\n")[0].startswith(("Return", "Declare", "Check", "Choose"))
    )

    assert (returned != "None") == describes


@each_hook
def test_has_a_typed_method_of_the_registry(hook):
    name = hook.__name__.removeprefix("framework_")
    if name == "addhooks":  # called while a plugin is registered
        return
    member = getattr(PluginRegistry, name)
    method = inspect.signature(getattr(member, "func", member))
    # What other hooks have answered, the registry knows itself.
    asked = [it for it in inspect.signature(hook).parameters if it != "compression_modes"]

    assert asked in (
        [name for name in method.parameters if name not in {"self", "core", "components"}],
        ["cli"],
    )


@each_hook
def test_is_tested(hook):
    name = hook.__name__.removeprefix("framework_")

    assert re.search(rf"^def test_{name}_", REGISTRY_TESTS.read_text(), re.MULTILINE)
