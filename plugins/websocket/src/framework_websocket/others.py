"""What the block `websocket` needs of others, and what it can't stand beside.

Source: nats-server `websocket.go`, `validateWebsocketOptions`; `auth.go`, `validateNoAuthUser`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BLOCK = "websocket"


def check_beside_others(
    block: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what is wrong with the block, as (option, problem), beside all that is configured."""
    has_operators = bool(values.get("operator") or values.get("trusted_keys"))
    users = set(_users(values))
    if block["no_auth_user"]:
        problem = _no_auth_user_problem(block["no_auth_user"], users, has_operators=has_operators)
        if problem:
            yield (_BLOCK, "no_auth_user"), problem
    for name in ("user", "token") if users else ():
        if (block["authorization"] or {}).get(name) is not None:
            problem = "not compatible with users of `authorization` or `accounts`; remove it"
            yield (_BLOCK, "authorization", name), problem
    if block["jwt_cookie"] and not has_operators:
        problem = "needs an `operator`, or `trusted_keys`, that vouch for the JWT; remove it"
        yield (_BLOCK, "jwt_cookie"), problem


def _no_auth_user_problem(name: str, users: set[str], *, has_operators: bool) -> str | None:
    if has_operators:
        return "not compatible with a trusted operator; remove it"
    if not users:
        return f'"{name}" present, but no users are; add the user'
    if name not in users:
        where = "not present as user or nkey in `authorization` or `accounts`"
        return f'"{name}" {where}; add the user'
    return None


def _users(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield names and nkeys of all users in lists."""
    blocks = [values.get("authorization") or {}, *(values.get("accounts") or {}).values()]
    for block in blocks:
        for entry in block.get("users") or ():
            yield entry.get("nkey") or entry.get("user")
