"""Options of operator mode.

What reads JWTs is loaded where there are some: it takes a twentieth of a start, and memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.topology import Kind, Option, Reload
from framework.wire.nkey import NkeyKind, is_public_key
from framework_auth.resolver_options import RESOLVER, RESOLVER_TLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def names_operators(values: Mapping[str, object]) -> bool:
    """Return whether the top level of a checked configuration asks for operator mode."""
    return bool(values["operator"] or values["trusted_keys"])


def check_operator_mode(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (option, problem) for what does not go together.

    Args:
        values: Of the top level; each option alone is right.
    """
    if not names_operators(values):
        for name in ("default_sentinel", "resolver_preload", "resolver_pinned_accounts"):
            if values[name]:
                yield name, "requires an operator; add `operator`"
        if values["resolver"] is not None:
            yield "resolver", "requires an operator; add `operator`"
        return
    if values["operator"] and values["trusted_keys"]:
        yield "trusted_keys", "conflicts with `operator`; remove one of them"
        return
    from framework_auth.operator_settings import operator_faults  # noqa: PLC0415 - see above

    yield from operator_faults(values)


def _check_operators(texts: object) -> str | None:
    from framework_auth.operator_settings import operators_fault  # noqa: PLC0415 - see above

    return operators_fault(texts)


def _check_preload(tokens: object) -> str | None:
    from framework_auth.operator_settings import preload_fault  # noqa: PLC0415 - see above

    return preload_fault(tokens)


def _check_sentinel(token: object) -> str | None:
    from framework_auth.operator_settings import sentinel_fault  # noqa: PLC0415 - see above

    return sentinel_fault(token)


def _check_keys(kind: NkeyKind, keys: object) -> str | None:
    assert isinstance(keys, tuple)
    for key in keys:
        if not is_public_key(key, kind):
            return f"not a valid public nkey of an {kind.name.lower()}"
    return None


OPERATOR_OPTIONS: Final = (
    Option(name="operator", kind=Kind.STRINGS, default=(), check=_check_operators,
           aliases=("operators", "roots", "root", "root_operators", "root_operator"),
           reload=Reload.RESTART,
           help="Operators whose accounts are trusted: files with their JWTs, or the JWTs"),
    Option(name="trusted_keys", kind=Kind.STRINGS, default=(), aliases=("trusted",),
           check=lambda keys: _check_keys(NkeyKind.OPERATOR, keys),
           help="Public keys that may sign accounts, in place of an operator"),
    RESOLVER,
    RESOLVER_TLS,
    Option(name="resolver_preload", kind=Kind.MAP, check=_check_preload,
           help="Accounts that are known from the start: public key to JWT"),
    Option(name="resolver_pinned_accounts", kind=Kind.STRINGS, default=(),
           check=lambda keys: _check_keys(NkeyKind.ACCOUNT, keys),
           help="Public keys of the only accounts whose users may log in; the system account may"),
    Option(name="default_sentinel", kind=Kind.STRING, check=_check_sentinel,
           help="Bearer JWT of clients that bring none, so that a callout decides on them"),
)  # fmt: skip
"""For the top level."""
