"""Convert the JSON options of a `$SYS` request into the query of a monitoring URL.

Source: nats-server `events.go`, `zReq`; `monitor.go`, the `json` tags of `ConnzOptions` and others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from framework.errors import BadOptions
from framework.spec import OptionKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.spec import MonitorEndpoint, RequestOption

_SHOWN_CHARS_MAX: Final = 100
_INT_MAX: Final = 2**63 - 1
_UNSIGNED_MAX: Final = 2**64 - 1


def options_from_payload(payload: bytes) -> dict[str, object]:
    """Return the fields of a request, by their names in lower case: Go does not mind the case.

    Raises:
        BadOptions: It is no JSON object.
    """
    if not payload:
        return {}
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadOptions(f"no JSON: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise BadOptions("json: cannot unmarshal into options: an object is expected")
    return {name.lower(): value for name, value in document.items()}


async def answer_request(
    endpoint: MonitorEndpoint, options: Mapping[str, object], *, account: str = ""
) -> object:
    """Return the document of an endpoint for a request.

    Args:
        endpoint: Who is asked.
        options: As `options_from_payload` has them.
        account: That of the subject, which counts more than one in the options; empty: none.

    Raises:
        BadOptions: A value has the wrong type: error 400 of the answer.
        BadQuery: A value makes no sense: error 500 of the answer.
        NoAnswer: Nothing is to be answered.
    """
    query = query_from_options(endpoint.options, options)
    if account:
        query["acc"] = account
    return await endpoint.answer(query)


def query_from_options(
    known: Sequence[RequestOption], options: Mapping[str, object]
) -> dict[str, str]:
    """Return the query that says what the options of a request say.

    Raises:
        BadOptions: A value has the wrong type.
    """
    query: dict[str, str] = {}
    for option in known:
        value = options.get(option.name.lower())
        if value is None:
            continue
        text = _text(option, value)
        if text:
            query[option.query or option.name] = text
    return query


def _text(option: RequestOption, value: object) -> str:
    """Return a value as a query has it; empty when it is what is assumed anyhow."""
    match option.kind, value:
        case OptionKind.FLAG, bool():
            return (option.texts[0] if option.texts else "1") if value else ""
        case OptionKind.TEXT, str():
            return value
        case OptionKind.TEXTS, list() if all(isinstance(it, str) for it in value):
            return " ".join(value)
        case OptionKind.INT, int() if _is_number(value, -_INT_MAX - 1, _INT_MAX):
            return option.texts[value] if 0 <= value < len(option.texts) else str(value)
        case OptionKind.UNSIGNED, int() if _is_number(value, 0, _UNSIGNED_MAX):
            return str(value)
        case _:
            shown = json.dumps(value)[:_SHOWN_CHARS_MAX]
            raise BadOptions(
                f"json: cannot unmarshal {shown} into field {option.name} of type "
                f"{option.kind.value}"
            )


def _is_number(value: int, minimum: int, maximum: int) -> bool:
    return not isinstance(value, bool) and minimum <= value <= maximum
