"""Hypothesis strategies for what NATS speaks of; `hypothesis` must be installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_FEW = ("a", "b", "foo", "bar")
"""Few tokens, so that subjects drawn apart match each other now and then."""
_ODD = ("*a", "a*", ">a", "a>", "**", "_INBOX", "$SYS", "\u00e9", "\u6c34", "{}", "0", "-")
"""Plain tokens that look like something else."""


def tokens() -> SearchStrategy[str]:
    """Draw tokens of subjects that stand for themselves."""
    wild = st.text(
        st.characters(exclude_characters=".*> \t\r\n\f\0", exclude_categories=["Cs"]),
        min_size=1,
        max_size=8,
    )
    return st.one_of(st.sampled_from(_FEW), st.sampled_from(_ODD), wild)


def literals(max_tokens: int = 5) -> SearchStrategy[str]:
    """Draw subjects that one may publish to.

    Args:
        max_tokens: At most so many; at least 1.
    """
    return st.lists(tokens(), min_size=1, max_size=max_tokens).map(".".join)


def subjects(max_tokens: int = 5) -> SearchStrategy[str]:
    """Draw subjects that one may subscribe to: `*` anywhere, `>` at the end.

    Args:
        max_tokens: At most so many; at least 1.
    """
    token = st.one_of(tokens(), st.just("*"))
    head = st.lists(token, min_size=0, max_size=max_tokens - 1)
    last = st.one_of(token, st.just(">"))
    return st.tuples(head, last).map(lambda drawn: ".".join((*drawn[0], drawn[1])))


def broken_subjects() -> SearchStrategy[str]:
    """Draw what is no subject: empty tokens, `>` before the end, blanks inside."""
    shapes = (
        "",
        ".",
        "{0}.",
        ".{0}",
        "{0}..{1}",
        "{0}.>.{1}",
        ">.{0}",
        "{0} {1}",
        "{0}\t",
        "\r{0}",
    )
    return st.tuples(st.sampled_from(shapes), literals(2), literals(2)).map(
        lambda drawn: drawn[0].replace("{0}", drawn[1]).replace("{1}", drawn[2])
    )


def payloads(max_size: int = 200) -> SearchStrategy[bytes]:
    """Draw payloads, some of which look like the protocol around them.

    Args:
        max_size: In bytes.
    """
    shams = st.sampled_from([b"", b"\r\n", b"PING\r\n", b"MSG a 1 1\r\nx\r\n", b"NATS/1.0\r\n\r\n"])
    return st.one_of(shams, st.binary(max_size=max_size))


def cuts(data: bytes) -> SearchStrategy[list[bytes]]:
    """Draw ways to cut bytes into pieces that are not empty.

    Args:
        data: What the pieces make together.
    """
    places = st.sets(st.integers(1, max(1, len(data) - 1)), max_size=8)
    return places.map(
        lambda chosen: [
            piece
            for begin, end in zip([0, *sorted(chosen)], [*sorted(chosen), len(data)], strict=True)
            if (piece := data[begin:end])
        ]
    )
