from setuptools import Distribution, Extension

class _Compiler:
    def object_filenames(self, sources: list[str], *, output_dir: str) -> list[str]: ...
    def compile(
        self,
        sources: list[str],
        *,
        output_dir: str,
        macros: list[tuple[str, str | None]],
        include_dirs: list[str],
        debug: bool,
        extra_postargs: list[str],
    ) -> list[str]: ...

class build_ext:  # noqa: N801 -- its own name
    build_temp: str
    compiler: _Compiler
    debug: bool
    distribution: Distribution
    editable_mode: bool
    extensions: list[Extension]
    force: bool
    include_dirs: list[str]
    parallel: bool | int | None
    plat_name: str
    verbose: bool
    def finalize_options(self) -> None: ...
    def build_extensions(self) -> None: ...
