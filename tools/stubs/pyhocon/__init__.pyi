# What we use of pyhocon, which ships no types.
from collections import OrderedDict
from typing import Any

class ConfigTree(OrderedDict[str, Any]): ...

class ConfigFactory:
    @classmethod
    def parse_string(
        cls,
        content: str,
        basedir: str | None = None,
        resolve: bool = True,
        unresolved_value: Any = ...,
    ) -> ConfigTree: ...
