"""The configuration of one server: values of its options, and their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, ClassVar, TypeVar, cast

from msgspec import Struct

from framework.redacted import Redacted
from framework.topology.digest import digest_of
from framework.topology.errors import Mistakes, TopologyError, TopologyErrors
from framework.topology.node import Node, merge_nodes
from framework.topology.option import Kind, Option
from framework.topology.place import DEFAULT_PLACE, NOWHERE, Place
from framework.topology.reading import Reading
from framework.topology.schema import Schema
from framework.topology.typed_section import record_from_values

__all__ = ["ServerConfig", "configure", "inert_settings", "read_values", "walk_values"]

S = TypeVar("S", bound=Struct)


class ServerConfig(Redacted, frozen=True):
    """Values of all options of one server, and where each was set.

    Durations are seconds, sizes bytes, addresses (host, port) where port 0 means any free
    one; an option that nobody set has its default, so every name of the schema is there.
    """

    hidden: ClassVar = frozenset({"values", "records"})

    schema: Schema
    values: Mapping[str, object]
    """Option of the top level to its value; a block is a mapping, or None when it is absent."""
    places: Mapping[str, Place]
    """Dotted path of an option to where it was set; only those that were, and not those that
    stand in one of many blocks."""
    records: Mapping[type[Struct], Struct]
    """The blocks whose sections have a record, as these; those that are absent are not."""
    file: str | None = None
    """The file it was read from, as the user named it."""
    digest: str = ""
    """Tells what that file says of the server from what it says another time, see `digest_of`."""

    def section(self, name: str) -> Mapping[str, object] | None:
        """Return the values of a block; None when the configuration has none."""
        return cast("Mapping[str, object] | None", self.values.get(name))

    def section_as(self, record: type[S]) -> S | None:
        """Return a block as the record of its section; None when the configuration has none.

        Raises:
            KeyError: No section was made of it.
        """
        if record not in {section.record for section in self.schema.sections}:
            raise KeyError(record.__name__)
        return cast("S | None", self.records.get(record))

    def source(self, path: str) -> Place:
        """Return where an option was set, given its dotted path such as `cluster.port`."""
        return self.places.get(path, DEFAULT_PLACE)


def configure(schema: Schema, layers: Sequence[Node], *, file: str | None = None) -> ServerConfig:
    """Make a configuration of settings laid over each other.

    Args:
        schema: The options that exist.
        layers: Blocks as files and flags give them; the last one wins. The first is the file's.
        file: What to call the file they were read from.

    Raises:
        TopologyErrors: All that is wrong in them.
    """
    mistakes = Mistakes()
    merged = reduce(merge_nodes, [schema.rename(layer, mistakes) for layer in layers])
    if file:  # what nobody set is missing there, and not on the command line
        merged = Node(merged.value, layers[0].place, layers[0].key_place)
    _refuse_blocks(schema, merged)
    digest = digest_of(layers[0]) if file else ""
    config = read_values(schema, merged, mistakes, file=file, digest=digest)
    mistakes.raise_if_any()
    return config


def read_values(
    schema: Schema, settings: Node, mistakes: Mistakes, *, file: str | None, digest: str
) -> ServerConfig:
    """Make a configuration of settings whose keys are in their first spelling."""
    reading = Reading(mistakes)
    values = reading.read_block(schema.root, settings)
    # What a Struct refuses is a mistake: then there is no configuration.
    records = {} if mistakes.count else _records(schema, values)
    return ServerConfig(schema, values, reading.places, records, file, digest)


def _records(schema: Schema, values: Mapping[str, object]) -> dict[type[Struct], Struct]:
    """Return the blocks whose owners want them as Structs."""
    found: dict[type[Struct], Struct] = {}
    for section in schema.sections:
        block = values.get(section.name)
        if section.record is not None and block is not None:
            make = section.make or partial(record_from_values, section.record)
            record = make(cast("Mapping[str, Any]", block))
            if record is not None:
                found[section.record] = record
    return found


def _refuse_blocks(schema: Schema, settings: Node) -> None:
    """Refuse what makes so little sense that all else said of it would only say the same.

    Raises:
        TopologyErrors: With the words of the section's owner.
    """
    table = settings.value if isinstance(settings.value, dict) else {}
    for section in schema.sections:
        if section.refuse and section.name in table:
            problem = section.refuse(table[section.name])
            if problem:
                raise TopologyErrors([TopologyError(NOWHERE, problem)])


def walk_values(config: ServerConfig) -> Iterator[tuple[str, Option, object]]:
    """Yield path, option and value of every option of blocks that are there."""
    yield from _walk(config.schema.root, config.values, "")


def inert_settings(config: ServerConfig) -> Iterator[tuple[str, str]]:
    """Yield the options that somebody set and that change nothing, and why that is."""
    for path, option, value in walk_values(config):
        if option.inert and path in config.places and value != option.default:
            yield path, option.inert


def _walk(
    block: Option, values: Mapping[str, object], path: str
) -> Iterator[tuple[str, Option, object]]:
    for option in block.options:
        inner = f"{path}.{option.name}" if path else option.name
        value = values.get(option.name)
        yield inner, option, value
        if option.kind is Kind.BLOCK and value is not None:
            yield from _walk(option, cast("Mapping[str, object]", value), inner)
