"""Says where `framework_port.h` is; all else is in pyproject.toml."""

from importlib.util import find_spec
from pathlib import Path

from setuptools import setup

# Found, not imported: what framework needs to run need not be there to build.
framework = find_spec("framework")
assert framework is not None, "framework, which has framework_port.h, is not installed"
assert framework.submodule_search_locations is not None
include = Path(framework.submodule_search_locations[0], "include")

setup(
    options={
        "build_ext": {
            "include_dirs": str(include),
            "cython_include_dirs": str(include.parent.parent),
        }
    }
)
