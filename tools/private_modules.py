"""Import-linter contract: a private module is imported only by its own package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from importlinter import Contract, ContractCheck, output
from typing_extensions import override

if TYPE_CHECKING:
    from grimp import ImportGraph


class PrivateModulesContract(Contract):
    """Broken by each import of a module `_name` from outside the package that holds it."""

    type_name = "private_modules"

    @override
    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        intrusions = [
            (importer, module)
            for module in sorted(graph.modules)
            if (room := room_of(module)) is not None
            for importer in sorted(graph.find_modules_that_directly_import(module))
            if not f"{importer}.".startswith(f"{room}.")
        ]
        return ContractCheck(kept=not intrusions, metadata={"intrusions": intrusions})

    @override
    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, module in check.metadata["intrusions"]:
            output.print_error(f"{importer} imports {module}, which is private to its package")


def room_of(module: str) -> str | None:
    """Return the package within which `module` may be imported, or None if anywhere.

    `a.b._c.d` belongs to `a.b`; dunder names such as `a.__main__` are not private.
    """
    names = module.split(".")
    for place, name in enumerate(names[1:], start=1):
        if name.startswith("_") and not name.endswith("__"):
            return ".".join(names[:place])
    return None
