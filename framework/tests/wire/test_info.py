from __future__ import annotations

import json

from framework.wire.document import build_document, parse_document
from framework.wire.info import (
    ClientConnect,
    ClientInfo,
    RouteConnect,
    RouteInfo,
    SubjectPermission,
    connect_line,
    info_line,
)
from framework.wire.version import CLIENT_PROTOCOL, NATS_VERSION, ROUTE_PROTOCOL


def test_a_client_that_says_nothing_is_verbose_pedantic_and_hears_itself():
    connect = parse_document(ClientConnect, b"{}")

    assert (connect.verbose, connect.pedantic, connect.echo, connect.protocol) == (
        True,
        True,
        True,
        0,
    )


def test_connect_of_a_client():
    connect = parse_document(
        ClientConnect,
        b'{"verbose":false,"pedantic":false,"tls_required":false,"name":"n","lang":"python3",'
        b'"version":"2.11.0","protocol":1,"echo":true,"headers":true,"no_responders":true,'
        b'"user":"u","pass":"p"}',
    )

    assert connect == ClientConnect(
        verbose=False,
        pedantic=False,
        name="n",
        lang="python3",
        version="2.11.0",
        protocol=1,
        headers=True,
        no_responders=True,
        user="u",
        password="p",
    )


def test_info_for_clients_says_what_clients_rely_on():
    info = json.loads(build_document(ClientInfo(server_id="N1", connect_urls=("h:1", "h:2"))))

    assert info == {
        "server_id": "N1",
        "server_name": "",
        "version": NATS_VERSION,
        "proto": CLIENT_PROTOCOL,
        "go": "",
        "host": "",
        "port": 0,
        "headers": True,
        "max_payload": 0,
        "connect_urls": ["h:1", "h:2"],
    }


def test_connect_of_a_route_has_its_password_under_natss_name():
    connect = RouteConnect(name="N1", cluster="c", user="u", password="p", headers=True)
    data = build_document(connect)

    assert json.loads(data)["pass"] == "p"
    assert parse_document(RouteConnect, data) == connect


def test_info_of_a_route():
    info = RouteInfo(
        server_id="N1",
        cluster="c",
        ip="nats-route://127.0.0.1:4248/",
        import_=SubjectPermission(allow=("a.>",)),
        export=SubjectPermission(deny=("b",)),
        route_pool_size=3,
        gossip_mode=1,
    )
    data = build_document(info)

    assert json.loads(data)["import"] == {"allow": ["a.>"]}
    assert parse_document(RouteInfo, data) == info
    assert info.proto == ROUTE_PROTOCOL


def test_info_of_an_older_server_can_be_read():
    info = parse_document(RouteInfo, b'{"server_id":"N1","proto":1,"nonce":"abc","lnoc":true}')

    assert (info.proto, info.route_pool_size, info.lnoc) == (1, 0, True)


def test_lines_end_as_nats_server_ends_them():
    assert info_line(b"{}") == b"INFO {} \r\n"
    assert connect_line(b"{}") == b"CONNECT {}\r\n"
