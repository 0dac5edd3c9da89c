"""Which of many subjects overlap with one more: a tree of tokens, both sides with wildcards.

The core's sublist finds the subjects that match a literal one; what streams ask is whether there is
a literal one that two subjects with wildcards match.

A node is a list of subjects until there are too many; then they part by their next token. What it
yields is compared once more, so the tree may say too much and never too little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from framework_jetstream.api.overlaps import do_overlap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Leaf: TypeAlias = list[tuple[str, str]]
    """Subjects, each with the name of who has it."""
    Branch: TypeAlias = dict[str, "Node"]
    """By the next token; by `END`, what has no token more."""
    Node: TypeAlias = Leaf | Branch

LEAF_MAX: Final = 16
"""Subjects that are compared one after the other."""
DEPTH_MAX: Final = 16
"""Tokens that tell subjects apart: one of a mebibyte must not be a node for each of its tokens."""
END: Final = ""


class SubjectTree:
    """Subjects, each with a name."""

    def __init__(self) -> None:
        self._root: Node = []

    def add(self, subject: str, name: str) -> None:
        """Add a subject.

        Cost: O(tokens), and at times the parting of `LEAF_MAX` subjects.
        """
        tokens, node, depth = subject.split("."), self._root, 0
        above: Branch | None = None
        while isinstance(node, dict):
            above, node = node, node.setdefault(_token(tokens, depth), [])
            depth += 1
        node.append((subject, name))
        if len(node) <= LEAF_MAX or depth >= DEPTH_MAX:
            return
        parted = _parted(node, depth)
        if above is None:
            self._root = parted
        else:
            above[_token(tokens, depth - 1)] = parted

    def remove(self, subject: str, name: str) -> None:
        """Remove a subject that is there."""
        tokens, node = subject.split("."), self._root
        way: list[tuple[Branch, str]] = []
        while isinstance(node, dict):
            token = _token(tokens, len(way))
            way.append((node, token))
            node = node[token]
        node.remove((subject, name))
        while way and not node:
            node, token = way.pop()
            del node[token]
        if not self._root:
            self._root = []

    def overlapping(self, subject: str) -> Iterator[str]:
        """Yield the name of each subject that overlaps with one; nothing may change meanwhile.

        Cost: O(what agrees with it in the first tokens). A token that is a wildcard agrees with all
        that are there.
        """
        tokens = subject.split(".")
        if ">" in tokens:
            tokens = tokens[: tokens.index(">") + 1]
        for other, name in _candidates(self._root, 0, tokens):
            if do_overlap(subject, other):
                yield name


def _token(tokens: list[str], depth: int) -> str:
    return tokens[depth] if depth < len(tokens) else END


def _parted(leaf: Leaf, depth: int) -> Branch:
    parted: dict[str, Node] = {}
    for it in leaf:
        below = parted.setdefault(_token(it[0].split("."), depth), [])
        assert isinstance(below, list)
        below.append(it)
    return parted


def _candidates(node: Node, depth: int, tokens: list[str]) -> Iterator[tuple[str, str]]:
    """Yield all that may overlap below a node; its depth is at most `DEPTH_MAX`."""
    if isinstance(node, list):
        yield from node
        return
    at = min(depth, len(tokens) - 1)
    agreeing: Iterable[str] = (tokens[at], "*", ">") if at == depth else (END,)
    if tokens[at] == ">" or (at == depth and tokens[at] == "*"):
        agreeing = node
    for token in agreeing:
        if token in node:
            yield from _candidates(node[token], depth + 1, tokens)
