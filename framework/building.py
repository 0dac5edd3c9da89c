"""Build the compiled modules of a package as one shared library.

A distribution with many of them names `BuildExt` in its `pyproject.toml`, beside its `ext-modules`
(each with one source), and calls `import_compiled` in the `__init__` of its package:

    [tool.setuptools]
    cmdclass = { build_ext = "framework.building.BuildExt" }
"""

# mypy: disable-error-code="explicit-override"
# A build has setuptools and Cython, and nothing else that brings `override`.

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from Cython.Build import cythonize
from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BuildExt"]


class BuildExt(build_ext):
    """Compile what has changed, and link all modules into `<package>._compiled`."""

    command_name = "build_ext"

    def finalize_options(self) -> None:
        """Put one extension, the library, in the place of all."""
        modules = self.distribution.ext_modules or []
        if modules and not isinstance(modules[0], _Library):
            self.distribution.ext_modules = [_Library(modules)]
        super().finalize_options()
        if self.editable_mode:
            # Not in a folder that is gone after the build: what has not changed is not compiled.
            tag = f"temp.{self.plat_name}-{sys.implementation.cache_tag}"
            self.build_temp = str(Path("build", tag))

    def build_extensions(self) -> None:
        """Compile the modules, then have setuptools link the library."""
        for library in self.extensions:
            assert isinstance(library, _Library)
            library.extra_objects = self._objects(library)
            library.depends += library.extra_objects
        super().build_extensions()

    def _objects(self, library: _Library) -> list[str]:
        """Bring the objects of all modules up to date, as many at once as `parallel` says."""
        workers = os.cpu_count() if self.parallel is True else self.parallel
        modules = cythonize(
            [*library.modules, library.table(self.build_temp)],
            nthreads=workers or 0,
            include_path=[*self.include_dirs, *getattr(self, "cython_include_dirs", ())],
            force=self.force,
            quiet=not self.verbose,
        )
        with ThreadPoolExecutor(workers or 1) as pool:
            return list(pool.map(self._object, modules))

    def _object(self, module: Extension) -> str:
        [path] = self.compiler.object_filenames(module.sources, output_dir=self.build_temp)
        if self.force or newer_group([*module.sources, *module.depends], path):
            self.compiler.compile(
                module.sources,
                output_dir=self.build_temp,
                macros=module.define_macros,
                include_dirs=module.include_dirs,
                debug=self.debug,
                extra_postargs=module.extra_compile_args,
            )
        return path


class _Library(Extension):
    """What the modules are linked into, itself a module: `MODULES` are the names of the others."""

    def __init__(self, modules: Sequence[Extension]) -> None:
        package = modules[0].name.partition(".")[0]
        sources = [source for module in modules for source in module.sources]
        super().__init__(f"{package}._compiled", sources=[], depends=sources)
        self.modules = modules

    def table(self, folder: str) -> Extension:
        """Return the module itself, written to `folder`."""
        path = Path(folder, *self.name.split(".")).with_suffix(".pyx")
        text = f"MODULES = frozenset({sorted(each.name for each in self.modules)})\n"
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Extension(self.name, [str(path)])
