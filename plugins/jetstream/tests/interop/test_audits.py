"""Audits of requests are made where somebody hears them, wherever that is."""

from __future__ import annotations

import json

import pytest

from framework.testing import RawClient, free_port
from plugins.jetstream.tests.interop.shared_clusters import PLUGIN, until

AUDIT = "$JS.EVENT.ADVISORY.API"
ACCOUNTS = """
accounts {{
  $SYS {{ users: [ {{ user: sys, password: x }} ] }}
  APP {{ {} users: [ {{ user: app, password: x }} ], exports: [ {{ stream: "$JS.EVENT.>" }} ] }}
  OTHER {{
    users: [ {{ user: other, password: x }} ]
    imports: [ {{ stream: {{ account: APP, subject: "$JS.EVENT.ADVISORY.>" }}, prefix: from }} ]
  }}
}}
"""
LOOK_S = 0.3
"""So long a listener waits before another request is made for it."""
PLACES = ("here", "route", "leaf", "gateway")

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]


@pytest.fixture
def servers(fleet, tmp_path):
    """Return a server with streams, and one of each kind that is linked with it, by place."""
    route, leaf, gateway = free_port(), free_port(), free_port()
    here = f"""
server_name: here
jetstream {{ store_dir: "{tmp_path}/here", replication: false }}
cluster {{ name: near, listen: "127.0.0.1:{route}" }}
leafnodes {{ listen: "127.0.0.1:{leaf}" }}
gateway {{ name: near, listen: "127.0.0.1:{gateway}" }}
"""
    dialing = {
        "route": f"""
cluster {{ name: near, listen: "127.0.0.1:-1", routes: [ "nats://127.0.0.1:{route}" ] }}
gateway {{ name: near, listen: "127.0.0.1:-1" }}
""",
        "leaf": f"""
leafnodes {{ remotes: [ {{ url: "nats-leaf://app:x@127.0.0.1:{leaf}", account: APP }} ] }}
""",
        "gateway": f"""
gateway {{
  name: far, listen: "127.0.0.1:-1"
  gateways: [ {{ name: near, url: "nats://127.0.0.1:{gateway}" }} ]
}}
""",
    }
    found = {
        "here": fleet.start(
            *PLUGIN, config=here + ACCOUNTS.format("jetstream: enabled,"), clustered=True
        )
    }
    for place, text in dialing.items():
        config = f"server_name: {place}\n{text}{ACCOUNTS.format('')}"
        found[place] = fleet.start(config=config, clustered=place == "route")
    return found


def is_heard(client, ask):
    """Ask; return whether the audit of that is heard."""
    ask()
    try:
        while (operation := client.read()).verb != b"MSG":
            pass
    except TimeoutError:
        return False
    return json.loads(operation.body)["subject"] == "$JS.API.INFO"


@pytest.mark.parametrize("user", ["app", "other"])
def test_who_listens_anywhere_hears_them(servers, log_in, user):
    with RawClient(servers["here"].port) as asking:
        api = log_in(asking, user="app", **{"pass": "x"})

        def ask():
            assert "limits" in json.loads(api.ask("$JS.API.INFO")[1])

        ask()  # nobody listens: from here on the server knows it
        for place in PLACES if user == "app" else ("here", "route"):
            subject = AUDIT if user == "app" else f"from.{AUDIT}"
            with RawClient(servers[place].port, timeout_s=LOOK_S) as listening:
                listening.log_in(user=user, **{"pass": "x"})
                listening.send(f"SUB {subject} 1\r\n".encode())
                listening.flush()
                until(lambda client=listening: is_heard(client, ask))
            ask()


def test_a_stream_keeps_them(servers, log_in):
    with RawClient(servers["here"].port) as asking:
        api = log_in(asking, user="app", **{"pass": "x"})
        api.ask("$JS.API.INFO")
        config = {"name": "AUDITS", "subjects": [AUDIT], "no_ack": True}
        assert "config" in api.api("STREAM.CREATE.AUDITS", config)
        api.ask("$JS.API.INFO")

        until(lambda: api.api("STREAM.INFO.AUDITS")["state"]["messages"])


def test_who_has_just_subscribed_hears_of_the_next_request(servers, log_in):
    with RawClient(servers["here"].port) as client:
        api = log_in(client, user="app", **{"pass": "x"})
        for _ in range(20):
            heard = api.subscribe(AUDIT)
            api.ask("$JS.API.INFO")
            assert json.loads(api.heard(heard)[1])["subject"] == "$JS.API.INFO"
            client.send(f"UNSUB {heard.replace('.', '')}\r\n".encode())
            api.ask("$JS.API.INFO")
