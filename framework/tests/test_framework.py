from __future__ import annotations

import importlib.metadata

import pytest

import framework
from framework.hookspecs import hookimpl, hookspec


def test_public_names_are_there_on_first_use():
    assert framework.hookimpl is hookimpl
    assert framework.hookspec is hookspec


def test_every_public_name_has_a_home():
    for name in framework.__all__:
        assert getattr(framework, name) is not None


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match="module 'framework' has no attribute 'hookimp'"):
        framework.hookimp  # noqa: B018


def test_version_is_that_of_the_distribution():
    assert framework.__version__ == importlib.metadata.version("framework")
