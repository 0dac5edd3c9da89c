"""Check accounts of a configuration: exports, imports, mappings, system account.

What one option says alone is checked where the option is defined.
Source: nats-server `opts.go`, `parseAccounts`; `accounts.go`, `addServiceImportWithClaim`,
`addMappedStreamImportWithClaim`, `AddWeightedMappings`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from framework.spec import GLOBAL_ACCOUNT, SYSTEM_ACCOUNT, ServiceImport, StreamImport
from framework.spec.exports import Exports
from framework.sublist.transform import BadTransform, parse_transform, with_numbered_wildcards
from framework.wire.nkey import NkeyKind, is_public_key
from framework.wire.subject import is_literal, is_valid_subject
from framework_auth.account_plan import account_from, service_import, stream_import
from framework_auth.import_cycles import ImportGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from framework.spec import AccountSpec, ServiceExport, StreamExport

    Problem: TypeAlias = tuple[tuple[str | int, ...], str]
    Block: TypeAlias = Mapping[str, Any]

_WEIGHT_MAX: Final = 100


def settle_accounts(values: dict[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong between the accounts of a configuration."""
    yield from _settle_mappings(values["mappings"], ("mappings",))
    blocks: Mapping[str, Block] = values["accounts"] or {}
    if GLOBAL_ACCOUNT in blocks:
        yield ("accounts", GLOBAL_ACCOUNT), f"{GLOBAL_ACCOUNT} is a reserved account; rename it"
    for name, block in blocks.items():
        yield from _settle_mappings(block["mappings"], ("accounts", name, "mappings"))
        yield from _settle_exports(name, block, values)
    yield from _settle_system_account(values)
    yield from _settle_default_domains(values)
    if any(block["imports"] for block in blocks.values()):
        specs = {name: account_from(name, block) for name, block in blocks.items()}
        yield from _Imports(specs).settle(blocks)


def _settle_system_account(values: Block) -> Iterator[Problem]:
    name, blocks = values["system_account"], values["accounts"] or {}
    if name is None or values["no_system_account"]:
        return
    if name not in {*blocks, GLOBAL_ACCOUNT, SYSTEM_ACCOUNT} and not values.get("operator"):
        yield ("system_account",), f'there is no account "{name}"; add it to `accounts`'


def _settle_default_domains(values: Block) -> Iterator[Problem]:
    """Source: nats-server `jetstream.go`, `validateJetStreamOptions`."""
    blocks = values["accounts"] or {}
    for name, domain in (values["default_js_domain"] or {}).items():
        path = ("default_js_domain", name)
        block = blocks.get(name)
        if name == (values["system_account"] or SYSTEM_ACCOUNT):
            yield path, f'system account "{name}" can not be in default_js_domain; take it out'
        elif values.get("operator"):
            if not is_public_key(name, NkeyKind.ACCOUNT):
                yield path, f'"{name}" is not a valid public account nkey; name accounts by theirs'
        elif block is None and name != GLOBAL_ACCOUNT:
            yield path, f'there is no account "{name}"; add it to `accounts`'
        elif domain and block and block["jetstream"]:
            problem = f'account "{name}" has JetStream enabled here'
            yield path, f"{problem}; disable it, or take the account out"
        if domain and not (is_valid_subject(f"$JS.{domain}.API.>") and is_literal(domain)):
            yield path, f'"{domain}" is no name of a domain; it has no blanks, and no wildcards'


def _settle_exports(name: str, block: Block, values: Block) -> Iterator[Problem]:
    services = {it["service"] for it in block["exports"]}
    for index, export in enumerate(block["exports"]):
        path: tuple[str | int, ...] = ("accounts", name, "exports", index)
        for importer in export["accounts"]:
            if importer not in values["accounts"]:
                what = "stream" if export["stream"] else "service"
                problem = f'"{importer}" account not defined for {what} export; add it, or fix it'
                yield (*path, "accounts"), problem
        latency = export["latency"]
        if latency and values["no_system_account"]:
            yield (*path, "latency"), "system account not setup; remove `no_system_account`"
        if latency and latency["subject"] in services:
            yield (
                (*path, "latency"),
                "samples would go to an exported service; take another subject",
            )


def _settle_mappings(blocks: Sequence[Block], path: tuple[str, ...]) -> Iterator[Problem]:
    for at, block in enumerate(blocks):
        weights: dict[str, int] = defaultdict(int)
        seen = set()
        for index, destination in enumerate(block["destinations"]):
            subject = destination["destination"]
            where: tuple[str | int, ...] = (*path, at, "destinations", index)
            weights[destination["cluster"]] += destination["weight"]
            if subject in seen:
                yield where, f'duplicate entry for "{subject}"; remove one of them'
            elif weights[destination["cluster"]] > _WEIGHT_MAX:
                yield where, f"total weight needs to be <= {_WEIGHT_MAX}"
            elif problem := _problem_of_transform(block["source"], subject):
                yield where, problem
            seen.add(subject)


def _problem_of_transform(source: str, destination: str, *, strict: bool = False) -> str | None:
    try:
        parse_transform(source, destination, strict=strict)
    except BadTransform as error:
        return str(error)
    return None


class _Imports:
    """The imports of all accounts, checked against the exports."""

    def __init__(self, specs: Mapping[str, AccountSpec]) -> None:
        self._specs = specs
        self._graph = ImportGraph(specs)
        self._streams: dict[str, Exports[StreamExport]] = {}
        self._services: dict[str, Exports[ServiceExport]] = {}
        for name, spec in specs.items():
            self._streams[name] = Exports(spec.stream_exports)
            self._services[name] = Exports(spec.service_exports)

    def settle(self, blocks: Mapping[str, Block]) -> Iterator[Problem]:
        """Yield what is wrong with imports."""
        for name, block in blocks.items():
            seen: set[tuple[str, str, str]] = set()
            for index, entry in enumerate(block["imports"]):
                made: StreamImport | ServiceImport
                made = stream_import(entry) if entry["stream"] else service_import(entry)
                problem = self._problem_of(name, made, seen)
                if problem:
                    yield ("accounts", name, "imports", index), problem

    def _problem_of(
        self, name: str, made: StreamImport | ServiceImport, seen: set[tuple[str, str, str]]
    ) -> str | None:
        is_stream = isinstance(made, StreamImport)
        what = "stream" if is_stream else "service"
        if made.account not in self._specs:
            return f'"{made.account}" account not defined for {what} import; add it, or fix it'
        exports = (self._streams if is_stream else self._services)[made.account]
        admitted = exports.admit(name, made.subject, None)
        if isinstance(admitted, str):
            return f"{what} import not authorized: {admitted}; see `exports` of {made.account}"
        key = (what, made.account, made.subject if is_stream else made.to)
        if key in seen:
            return f"{what} import already exists; remove one of them"
        seen.add(key)
        if problem := _problem_of_subjects(made):
            return problem
        if not self._graph.add(name, made):
            return "import forms a cycle; take another subject, or remove one of its imports"
        return None


def _problem_of_subjects(made: StreamImport | ServiceImport) -> str | None:
    """Say what is wrong with how an import calls what it imports."""
    if not is_valid_subject(made.to):
        return f'"{made.to}" is not a valid subject'
    if made.to == made.subject or not {"*", ">"} & set(made.subject.split(".")):
        return None
    return _problem_of_transform(made.subject, with_numbered_wildcards(made.to), strict=True)
