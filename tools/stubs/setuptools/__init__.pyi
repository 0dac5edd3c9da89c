# What we use of setuptools, which ships no types.
class Extension:
    name: str
    sources: list[str]
    depends: list[str]
    define_macros: list[tuple[str, str | None]]
    include_dirs: list[str]
    extra_compile_args: list[str]
    extra_objects: list[str]
    def __init__(
        self, name: str, sources: list[str], *, depends: list[str] | None = None
    ) -> None: ...

class Distribution:
    ext_modules: list[Extension] | None
