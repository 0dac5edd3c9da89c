"""The talks of the data plane's tests, with whole servers: rules come by configuration there."""

from __future__ import annotations

import json

from framework.tests.dataplane.permission_cases import CASES, parse_talk


def rules_of(permissions):
    """Return permissions as a configuration has them."""
    block = {
        name: {kind: list(getattr(rules, kind)) for kind in ("allow", "deny")}
        for name, rules in (
            ("publish", permissions.publish),
            ("subscribe", permissions.subscribe),
        )
        if rules.allow or rules.deny
    }
    for rules in block.values():
        for kind in ("allow", "deny"):
            if not rules[kind]:
                del rules[kind]
    if permissions.responses:
        block["allow_responses"] = {"max": permissions.responses.max_msgs, "expires": "2m"}
    return {"permissions": block} if block else {}


def configuration():
    """Return an account for each case, with a user under its rules and one that is free."""
    accounts = {
        f"A{number}": {
            "users": [
                {"user": f"U{number}", "password": "x", **rules_of(case.permissions)},
                {"user": f"O{number}", "password": "x"},
            ]
        }
        for number, case in enumerate(CASES)
    }
    return f"accounts: {json.dumps(accounts, indent=1)}\n"


def heard(client):
    """Return what a client has heard, as it was on the wire."""
    return b"".join(
        operation.line + b"\r\n" + (b"" if operation.body is None else operation.body + b"\r\n")
        for operation in client.flush()
        if operation.verb != b"INFO"  # may come at any time
    )


def test_clients_under_rules_hear_the_same(fleet, kind):
    server = fleet.start(kind=kind, config=configuration())
    for number, case in enumerate(CASES):
        with server.client() as ruled, server.client() as free:
            peers = {"U": ruled, "O": free}
            for who, peer in peers.items():
                peer.log_in(
                    user=f"{who}{number}", headers=True, no_responders=True, **{"pass": "x"}
                )
            for who, said, hears in parse_talk(case.talk):
                peers[who].send(said)
                answers = {who: heard(peers[who])}
                other = "UO".replace(who, "")
                answers[other] = heard(peers[other])

                assert hears == answers, (case.name, said)
