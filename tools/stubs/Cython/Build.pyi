# What we use of Cython, whose own annotations leave out most of this.
from collections.abc import Sequence

from setuptools import Extension

def cythonize(
    module_list: Sequence[Extension],
    *,
    nthreads: int,
    include_path: Sequence[str],
    force: bool,
    quiet: bool,
) -> list[Extension]: ...
