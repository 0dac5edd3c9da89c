from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from msgspec import Struct
from msgspec.structs import asdict

from framework.errors import BadQuery, NoAnswer
from framework.server.system.documents import (
    answer_enveloped,
    document_services,
)
from framework.spec import InQuery, MonitorEndpoint, ServiceRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.server.system.server_stamp import ServerStamp


def ask(answer: Any, subject: str = "s", payload: bytes = b"", reply: str = "r") -> Any:
    request = ServiceRequest(subject=subject, reply=reply, header=b"", payload=payload)
    data = asyncio.run(answer(request))
    return None if data is None else json.loads(data)


def enveloped(stamp: ServerStamp, document: Any) -> Any:
    async def answer(request: ServiceRequest) -> Any:
        return await answer_enveloped(stamp, document, request)

    return answer


async def echo(options: Mapping[str, object]) -> object:
    return dict(options)


@pytest.mark.parametrize(
    ("payload", "data"), [(b"", {}), (b"null", {}), (b'{"Limit":5}', {"limit": 5})]
)
def test_a_document_comes_with_the_name_of_its_server(
    stamp: ServerStamp, payload: bytes, data: object
) -> None:
    answer = ask(enveloped(stamp, echo), payload=payload)

    assert answer["server"]["id"] == "NONE"
    assert answer["data"] == data


def test_other_servers_and_who_does_not_wait_get_nothing(stamp: ServerStamp) -> None:
    assert ask(enveloped(stamp, echo), payload=b'{"server_name":"n2"}') is None
    assert ask(enveloped(stamp, echo), reply="") is None


@pytest.mark.parametrize("payload", [b"{bad", b"[]", b'{"tags":1}'])
def test_options_that_make_no_sense_are_answered_with_400(
    stamp: ServerStamp, payload: bytes
) -> None:
    answer = ask(enveloped(stamp, echo), payload=payload)

    assert answer["error"]["code"] == 400
    assert "data" not in answer


def test_what_a_document_refuses_is_answered_with_500_and_its_text(stamp: ServerStamp) -> None:
    async def refuse(_options: object) -> object:
        raise BadQuery("invalid sorting option: nope")

    answer = ask(enveloped(stamp, refuse))

    assert answer["error"] == {"code": 500, "description": "invalid sorting option: nope"}
    assert answer["data"] is None


def test_silence_and_answers_without_data(stamp: ServerStamp) -> None:
    async def keep_silent(_options: object) -> object:
        raise NoAnswer("not here")

    async def do(options: Mapping[str, object]) -> None:
        if options:
            raise BadQuery("can't")

    async def answer_deed(request: ServiceRequest) -> Any:
        return await answer_enveloped(stamp, do, request, has_data=False)

    assert ask(enveloped(stamp, keep_silent)) is None
    assert list(ask(answer_deed)) == ["server"]
    assert list(ask(answer_deed, payload=b'{"x":1}')) == ["server", "error"]


class Options(Struct, frozen=True):
    subscriptions: Annotated[bool, InQuery("subs")] = False
    account: str = ""


def test_each_document_is_asked_for_by_everybody_by_id_and_by_account(stamp: ServerStamp) -> None:
    async def answer(options: Options) -> object:
        return asdict(options)

    endpoints = [
        MonitorEndpoint(path="/only", answer=answer),
        MonitorEndpoint(answer=answer, options=Options, request="XZ", account_request="YZ"),
    ]
    services = {it.subject: it.answer for it in document_services(stamp, endpoints)}
    payload = b'{"subscriptions":true,"other":1}'

    assert list(services) == [
        "$SYS.REQ.SERVER.PING.XZ",
        "$SYS.REQ.SERVER.NONE.XZ",
        "$SYS.REQ.ACCOUNT.*.YZ",
    ]
    xz = ask(services["$SYS.REQ.SERVER.PING.XZ"], payload=payload)
    yz = ask(services["$SYS.REQ.ACCOUNT.*.YZ"], "$SYS.REQ.ACCOUNT.A.YZ", payload)
    everything = ask(services["$SYS.REQ.ACCOUNT.*.YZ"], "$SYS.REQ.ACCOUNT.PING.YZ")

    assert xz["data"] == {"subscriptions": True, "account": ""}
    assert yz["data"] == {"subscriptions": True, "account": "A"}
    assert everything["data"] == {"subscriptions": False, "account": ""}
