from __future__ import annotations

from framework.server.clients.client_document import client_documents
from framework.server.clients.client_row import Client
from framework.spec import ClientIdentity
from framework.wire.info import ClientConnect

CONNECT = ClientConnect(name='a "b" ü', lang="go", version="1.2")


def documents(identity: ClientIdentity, cluster: str = "c") -> tuple[str, str]:
    client = Client(1, 7, "::1", 4222, 0, connect=CONNECT, identity=identity)
    brief, full = client_documents(client, server="s", cluster=cluster, started_ns=0)
    return brief.decode(), full.decode()


def test_a_service_learns_the_account_and_where_it_may_all_the_rest() -> None:
    identity = ClientIdentity(
        account="A", user="joe", jwt="e.y", issuer_key="AK", name_tag="Joe", tags=("x", "y")
    )
    brief, full = documents(identity)

    assert brief == '{"acc":"A"}'
    assert full == (
        '{"start":"1970-01-01T00:00:00Z","host":"::1","id":7,"acc":"A","user":"joe",'
        '"name":"a \\"b\\" ü","lang":"go","ver":"1.2","server":"s","cluster":"c","jwt":"e.y",'
        '"issuer_key":"AK","name_tag":"Joe","tags":["x","y"],"kind":"Client","client_type":"nats"}'
    )


def test_what_is_empty_is_left_out_and_a_key_goes_before_a_name() -> None:
    _, full = documents(ClientIdentity(account="A", user="joe", nkey="UK"), cluster="")

    assert full == (
        '{"start":"1970-01-01T00:00:00Z","host":"::1","id":7,"acc":"A","user":"UK",'
        '"name":"a \\"b\\" ü","lang":"go","ver":"1.2","server":"s",'
        '"kind":"Client","client_type":"nats"}'
    )
