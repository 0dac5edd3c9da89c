"""Parse and check the destination of a subject transform.

`_transform.pyx` does it. Source: nats-server `subject_transform.go`; ADR-30.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from typing import Final

from msgspec import Struct

from framework.errors import FrameworkError


class BadTransform(FrameworkError):  # noqa: N818 - what it is about, not how it ended
    """A transform makes no sense; the text names the place and what is wrong with it."""


class Function(IntEnum):
    """What makes one token of the destination; the compiled code has the same numbers."""

    TEXT = 0
    WILDCARD = 1
    PARTITION = 2
    SPLIT_FROM_LEFT = 3
    SPLIT_FROM_RIGHT = 4
    SLICE_FROM_LEFT = 5
    SLICE_FROM_RIGHT = 6
    RIGHT = 7
    LEFT = 8
    SPLIT = 9
    RANDOM = 10


class Step(Struct, frozen=True):
    """One token of the destination."""

    function: Function
    tokens: tuple[int, ...] = ()
    """Tokens of the source subject, from 0."""
    number: int = 0
    """Partitions, places, or the end of random numbers."""
    text: str = ""
    """The token itself, or what `split` splits at."""


class Program(Struct, frozen=True):
    """A destination that fits its source."""

    source: str
    steps: tuple[Step, ...]
    rest_from: int
    """The source's tokens from here on follow the steps; -1: none does."""


_NAMES: Final = {
    "wildcard": Function.WILDCARD,
    "partition": Function.PARTITION,
    "splitFromLeft": Function.SPLIT_FROM_LEFT,
    "splitFromRight": Function.SPLIT_FROM_RIGHT,
    "sliceFromLeft": Function.SLICE_FROM_LEFT,
    "sliceFromRight": Function.SLICE_FROM_RIGHT,
    "right": Function.RIGHT,
    "left": Function.LEFT,
    "split": Function.SPLIT,
    "random": Function.RANDOM,
}


@cache
def _pattern(name: str) -> str:
    """Words of a name may begin with a small letter or a capital one, as in nats-server."""
    words = re.findall(r"[a-z]+|[A-Z][a-z]*", name)
    spelled = "".join(f"[{word[0].lower()}{word[0].upper()}]{word[1:]}" for word in words)
    return r"(?a)\{\{\s*" + spelled + r"\s*\((.*)\)\s*\}\}"


_WHOLE_NUMBER: Final = r"[+-]?[0-9]+"
_CALLS: Final = r"\{\{|\$[+-]?[0-9]"
"""In all that is more than text; thousands of accounts import plain subjects."""
_INT32_MAX: Final = 2**31 - 1
_ANY: Final = "*"
_BRACES: Final = 4
"""Of a function: what is no longer than its braces is plain text."""


class _Call(Struct, frozen=True):
    """A function in a destination, with wildcards where `Step` has tokens."""

    token: str
    function: Function
    wildcards: tuple[int, ...] = ()
    number: int = 0
    text: str = ""


def parse_transform(source: str, destination: str, *, strict: bool = False) -> Program:
    """Take a transform apart.

    Args:
        source: What it applies to; may have wildcards. Empty: everything.
        destination: Where that goes: `$1` and `{{wildcard(1)}}` stand for the first `*`.
        strict: It must be reversible, as for imports: each `*` is used, no other function is.

    Raises:
        BadTransform: It makes no sense, or nats-server would refuse it.
    """
    source = source or ">"
    here, there = _tokens("source", source), _tokens("destination", destination)
    if "*" in there:
        raise BadTransform(
            f'destination "{destination}": "*" means nothing there; "$1" is the first of the source'
        )
    if (here[-1] == ">") != (there[-1] == ">"):
        raise BadTransform(f'"{source}" to "{destination}": both must end in ">", or none of them')
    calls = [_call(token) for token in there]
    places = [at for at, token in enumerate(here) if token == _ANY]
    if places or here[-1] == ">":
        steps = [_step(call, places) for call in calls]
        if strict:
            _check_strict(destination, calls, len(places))
    else:
        steps = [_constant_step(call) for call in calls]
    rest_from = -1
    if there[-1] == ">":
        rest_from = len(here) - 1
        steps.pop()
    return Program(source, tuple(steps), rest_from)


def _tokens(what: str, subject: str) -> list[str]:
    tokens = subject.split(".")
    if not all(tokens) or ">" in tokens[:-1]:
        problem = 'empty tokens, or ">" before the end'
        raise BadTransform(f'{what} "{subject}" is no subject: {problem}')
    for token in tokens:
        if not _is_function(token) and re.search(r"[\t\n\f\r \0]", token):
            raise BadTransform(f'{what} "{subject}" is no subject: it has blanks')
    return tokens


def _is_function(token: str) -> bool:
    return len(token) > _BRACES and token.startswith("{{") and token.endswith("}}")


def _call(token: str) -> _Call:
    """Read one token of a destination."""
    if token.startswith("$") and re.fullmatch(_WHOLE_NUMBER, token[1:]):
        return _Call(token, Function.WILDCARD, (int(token[1:]),))
    if not _is_function(token):
        return _Call(token, Function.TEXT, text=token)
    for name in _NAMES:
        found = re.search(_pattern(name), token)
        if found:
            return _function_call(token, name, re.split(r",\s*", found[1], flags=re.ASCII))
    known = ", ".join(_NAMES)
    raise BadTransform(f'"{token}": there is no such function; there are {known}')


def _function_call(token: str, name: str, words: list[str]) -> _Call:
    function = _NAMES[name]
    if function is Function.PARTITION:
        number = _number(token, name, words[0], most=_INT32_MAX)
        return _Call(token, function, tuple(_number(token, name, w) for w in words[1:]), number)
    wanted = 1 if function in {Function.WILDCARD, Function.RANDOM} else 2
    if len(words) != wanted or words == [""]:
        few = "few" if len(words) < wanted or words == [""] else "many"
        count = "one argument" if wanted == 1 else f"{wanted} arguments"
        raise BadTransform(f'"{token}": too {few} arguments: {name} takes {count}')
    if function is Function.RANDOM:
        return _Call(token, function, (), _number(token, name, words[0], most=_INT32_MAX))
    wildcard = _number(token, name, words[0])
    if function is Function.WILDCARD:
        return _Call(token, function, (wildcard,))
    if function is Function.SPLIT:
        if " " in words[1]:
            raise BadTransform(f'"{token}": {name} cannot split at blanks')
        return _Call(token, function, (wildcard,), text=words[1])
    number = _number(token, name, words[1], most=_INT32_MAX, least=-_INT32_MAX - 1)
    return _Call(token, function, (wildcard,), number)


def _number(
    token: str, name: str, word: str, *, most: int = 2**63 - 1, least: int = -(2**63)
) -> int:
    word = word.strip(" ")
    if not re.fullmatch(_WHOLE_NUMBER, word) or not least <= int(word) <= most:
        raise BadTransform(f'"{token}": {name} needs a whole number in place of "{word}"')
    return int(word)


def _step(call: _Call, places: list[int]) -> Step:
    """Turn wildcards into tokens. nats-server takes the first token for wildcards below 1."""
    for wildcard in call.wildcards:
        if wildcard > len(places):
            raise BadTransform(
                f'"{call.token}": there is no wildcard {wildcard}; the source has {len(places)}'
            )
    tokens = tuple(places[at - 1] if at > 0 else 0 for at in call.wildcards)
    return Step(call.function, tokens, call.number, call.text)


def _constant_step(call: _Call) -> Step:
    """Return what a source without wildcards allows: nothing that needs one."""
    if call.function in {Function.TEXT, Function.RANDOM, Function.PARTITION}:
        return Step(call.function, (), call.number, call.text)
    raise BadTransform(f'"{call.token}": the source has no wildcard')


def _check_strict(destination: str, calls: list[_Call], count: int) -> None:
    for call in calls:
        if call.function not in {Function.TEXT, Function.WILDCARD}:
            raise BadTransform(f'"{call.token}": imports take no function but wildcard')
    if sum(len(call.wildcards) for call in calls) < count:
        raise BadTransform(f'destination "{destination}" does not use each "*" of the source')


def with_numbered_wildcards(subject: str) -> str:
    """Write `$1`, `$2`, ... for each `*`: the destination that leaves `subject` as it is."""
    tokens = subject.split(".")
    count = 0
    for at, token in enumerate(tokens):
        if token == _ANY:
            count += 1
            tokens[at] = f"${count}"
    return ".".join(tokens)


def with_plain_wildcards(destination: str) -> tuple[str, list[int]]:
    """Write `*` for each `$n` or `wildcard(n)`; return their numbers in order, too."""
    if not re.search(_CALLS, destination):
        return destination, []
    tokens = destination.split(".")
    numbers: list[int] = []
    for at, token in enumerate(tokens):
        call = _call(token)
        if call.function is Function.WILDCARD:
            numbers += call.wildcards
            tokens[at] = _ANY
    return ".".join(tokens), numbers


def reversed_transform(source: str, destination: str) -> tuple[str, str]:
    """Return source and destination of the way back of a strict transform.

    nats-server's `reverse` agrees but where wildcards go round in a circle of three or more.
    """
    back_source, numbers = with_plain_wildcards(destination)
    tokens = source.split(".")
    count = 0
    for at, token in enumerate(tokens):
        if token == _ANY:
            count += 1
            tokens[at] = f"${numbers.index(count) + 1}"
    return back_source, ".".join(tokens)
