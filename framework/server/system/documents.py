"""Monitoring documents as answers to `$SYS` requests, in the system account's envelope.

Source: nats-server `events.go`, `zReq`, `initEventTracking`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from framework.errors import BadOptions, BadQuery, NoAnswer
from framework.monitor.request_options import (
    answer_request,
    members_of_payload,
    options_from_members,
)
from framework.server.system.options import ServerFilter
from framework.server.system.outbox import json_bytes
from framework.spec import ServiceSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from framework.server.system.server_stamp import ServerStamp
    from framework.spec import MonitorEndpoint, ServiceAnswer, ServiceRequest

_BAD_REQUEST: Final = 400
_INTERNAL_ERROR: Final = 500
_ACCOUNT_AT: Final = 3
"""Where the account stands in `$SYS.REQ.ACCOUNT.<account>.CONNZ`."""
_EVERYBODY: Final = "PING"


async def answer_enveloped(
    stamp: ServerStamp,
    document: Callable[[Mapping[str, object]], Awaitable[object]],
    request: ServiceRequest,
    *,
    has_data: bool = True,
) -> ServiceAnswer:
    """Return a document as `{"server", "data"}`, or what is wrong as `{"server", "error"}`.

    Args:
        stamp: Names this server.
        document: Makes it from the members of the request; may raise `BadQuery` and `NoAnswer`.
        request: Without a reply subject it is not answered.
        has_data: Whether there is a document; otherwise it is enough that all went well.

    Returns:
        None: the request is for other servers, or nobody waits.
    """
    if not request.reply:
        return None
    try:
        members = members_of_payload(request.payload)
        if not options_from_members(ServerFilter, members).admits(stamp):
            return None
        data = await document(members)
    except NoAnswer:
        return None
    except BadOptions as error:
        return _refusal(stamp, _BAD_REQUEST, str(error))
    except BadQuery as error:
        return _refusal(stamp, _INTERNAL_ERROR, str(error), **({"data": None} if has_data else {}))
    from framework.monitor.json_stream import json_whole  # noqa: PLC0415 -- when first asked

    envelope: dict[str, object] = {"server": stamp.make()}
    if has_data:
        envelope["data"] = data
    return await json_whole(envelope)


def _refusal(stamp: ServerStamp, code: int, description: str, **data: None) -> bytes:
    error = {"code": code, "description": description}
    return json_bytes({"server": stamp.make(), **data, "error": error})


def document_services(
    stamp: ServerStamp, endpoints: Iterable[MonitorEndpoint]
) -> Sequence[ServiceSpec]:
    """Return the services for all documents that can be asked for by message.

    Args:
        stamp: Names this server.
        endpoints: Those of the core and of plugins.
    """
    services = []
    for endpoint in endpoints:
        if endpoint.request:
            services += [
                ServiceSpec(
                    name=f"{endpoint.request} of {who}",
                    subject=f"$SYS.REQ.SERVER.{who}.{endpoint.request}",
                    answer=partial(_answer_server, stamp, endpoint),
                )
                for who in (_EVERYBODY, stamp.server.server_id)
            ]
        if endpoint.account_request:
            services.append(
                ServiceSpec(
                    name=f"{endpoint.account_request} of an account",
                    subject=f"$SYS.REQ.ACCOUNT.*.{endpoint.account_request}",
                    answer=partial(_answer_account, stamp, endpoint),
                )
            )
    return services


async def _answer_server(
    stamp: ServerStamp, endpoint: MonitorEndpoint, request: ServiceRequest
) -> ServiceAnswer:
    return await answer_enveloped(stamp, partial(answer_request, endpoint), request)


async def _answer_account(
    stamp: ServerStamp, endpoint: MonitorEndpoint, request: ServiceRequest
) -> ServiceAnswer:
    account = request.subject.split(".")[_ACCOUNT_AT]
    # `PING` in the place of an account asks for all of them, where that makes sense.
    name = "" if account == _EVERYBODY else account
    document = partial(answer_request, endpoint, account=name)
    return await answer_enveloped(stamp, document, request)
