"""What the service is asked, and what its answer means."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from framework.spec import (
    GLOBAL_ACCOUNT,
    Accepted,
    ConnectionLimits,
    Permissions,
    Refused,
    ResponsePermission,
    SubjectRules,
)
from framework.wire import is_valid_subject
from framework_auth_http.errors import ServiceError

if TYPE_CHECKING:
    from framework.spec import LoginAnswer, LoginRequest


MEMBERS = {"user", "account", "permissions", "max_subscriptions", "max_payload", "expires"}


def question_from_request(request: LoginRequest) -> bytes:
    connect = request.connect
    question = {
        "user": connect.user,
        "password": connect.password,
        "token": connect.auth_token,
        "host": request.host,
        "type": request.connection_type,
    }
    return json.dumps(question).encode()


def answer_from_response(request: LoginRequest, status: int, body: bytes) -> LoginAnswer:
    """Raises ServiceError: it says neither yes nor no."""
    if status == HTTPStatus.NOT_FOUND:
        return None
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return Refused("the login service says no")
    if status != HTTPStatus.OK:
        raise ServiceError(f"it answered with status {status}")
    try:
        return _accepted(json.loads(body), request.connect.user or "token")
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        # Only its class: its text may show what the service wrote.
        raise ServiceError(f"its answer can't be read: {type(error).__name__}") from None


def _accepted(document: dict[str, Any], user: str) -> Accepted:
    _only(document, MEMBERS)
    permissions = document.get("permissions")
    return Accepted(
        user=_text(document.get("user", user)),
        account=_text(document.get("account", GLOBAL_ACCOUNT)),
        permissions=_permissions(permissions) if permissions is not None else None,
        limits=ConnectionLimits(
            max_subscriptions=int(document.get("max_subscriptions", -1)),
            max_payload=int(document.get("max_payload", -1)),
        ),
        expires_s=float(document.get("expires", 0.0)),
    )


def _permissions(document: dict[str, Any]) -> Permissions:
    _only(document, {"publish", "subscribe", "allow_responses"})
    responses = document.get("allow_responses")
    return Permissions(
        publish=_rules(document.get("publish", {}), words_max=1),
        subscribe=_rules(document.get("subscribe", {}), words_max=2),
        responses=ResponsePermission(max_msgs=int(responses)) if responses else None,
    )


def _rules(document: dict[str, Any], *, words_max: int) -> SubjectRules:
    """Return rules; one for subscriptions may name a queue group behind its subject."""
    _only(document, {"allow", "deny"})
    return SubjectRules(**{
        name: _subjects(texts, words_max=words_max) for name, texts in document.items()
    })


def _subjects(texts: object, *, words_max: int) -> tuple[str, ...]:
    if not isinstance(texts, list):
        raise TypeError
    for text in texts:
        words = _text(text).split(" ")
        if len(words) > words_max or not all(is_valid_subject(word) for word in words):
            raise ValueError
    return tuple(texts)


def _only(document: dict[str, Any], names: set[str]) -> None:
    """Refuse what is not known: a misspelt `deny` must not allow everything."""
    if not document.keys() <= names:
        raise ValueError


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value
