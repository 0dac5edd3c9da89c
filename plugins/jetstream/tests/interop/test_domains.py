"""Domains over leaf nodes: `$JS.<domain>.API` crosses, `$JS.API` does not."""

from __future__ import annotations

import json

import pytest

from framework.testing.fleet import free_port

pytestmark = pytest.mark.interop

OURS = "ours"
REAL = "2.15.2"
WAYS = [(OURS, REAL), (REAL, OURS), (OURS, OURS), (REAL, REAL)]
SYSTEM = 'accounts { "$SYS" { users: [{ user: s, password: s }] } }\n'
ACCOUNTS = """
accounts {
  "$SYS" { users: [{ user: s, password: s }] }
  A { users: [{ user: a, password: a }], %s }
}
no_auth_user: a
"""
HAS, NONE = "jetstream: enabled", "default_permissions {}"


class Pair:
    """A hub and a leaf node of it.

    Args:
        fleet: Starts servers.
        folder: Of their streams.
        kinds: Of hub and leaf node.
        hub: More of the hub's configuration; `{folder}` stands for where its streams are.
        leaf: The same of the leaf node's.
        remotes: Accounts that are joined; those of both ends have the same name.
        login: Of each of these, by its name.
    """

    def __init__(self, fleet, folder, kinds, *, hub, leaf, remotes=("A",), login=None):
        port = free_port()
        users = login or {"A": "a:a", "$SYS": "s:s"}
        urls = (
            f'{{ url: "nats-leaf://{users[name]}@127.0.0.1:{port}", account: "{name}" }}'
            for name in remotes
        )
        listening = f'server_name: hub\nleafnodes {{ listen: "127.0.0.1:{port}" }}\n'
        dialing = (
            f"server_name: leaf\nleafnodes {{ reconnect: '100ms', remotes: [{','.join(urls)}] }}\n"
        )
        http = 'http: "127.0.0.1:-1"\n'
        texts = {"hub": http + listening + hub, "leaf": http + dialing + leaf}
        self.servers = {
            name: fleet.start("-D", kind=kind, config=text.replace("{folder}", str(folder / name)))
            for (name, text), kind in zip(texts.items(), kinds, strict=True)
        }
        while len(self.servers["leaf"].document("/leafz").get("leafs") or []) < len(remotes):
            pass


def reply_to(user, subject, payload=b""):
    """Return the JSON of an answer."""
    return json.loads(user.ask(subject, payload)[1])


def names(user, prefix="$JS.API"):
    """Return the streams that an API knows; None: nobody answers."""
    reply = user.ask(f"{prefix}.STREAM.NAMES")[1]
    return json.loads(reply).get("streams") or [] if reply else None


def await_names(user, prefix):
    """Return the streams that an API knows, when the way there is known."""
    while (found := names(user, prefix)) is None:
        pass
    return found


def create(user, name, prefix="$JS.API", **config):
    made = reply_to(user, f"{prefix}.STREAM.CREATE.{name}", {"name": name, **config})
    assert "error" not in made, made


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
def test_each_side_reaches_the_other_one_by_its_domain_alone(fleet, tmp_path, log_in, kinds):
    both = {
        name: ACCOUNTS % HAS + f'jetstream {{ store_dir: "{{folder}}", domain: {name} }}\n'
        for name in ("hub", "leaf")
    }
    pair = Pair(fleet, tmp_path, kinds, **both)
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        hub, leaf = log_in(one), log_in(other)
        create(hub, "AT_HUB", subjects=["hub.*"])
        create(leaf, "AT_LEAF", subjects=["leaf.*"])
        for user in (hub, leaf):
            assert await_names(user, "$JS.hub.API") == ["AT_HUB"]
            assert await_names(user, "$JS.leaf.API") == ["AT_LEAF"]
        assert names(hub) == ["AT_HUB"]
        assert names(leaf) == ["AT_LEAF"]
        # A stream of the other side is made, written to and read by its domain.
        create(leaf, "BY_LEAF", "$JS.hub.API", subjects=["far.*"])
        assert sorted(names(hub)) == ["AT_HUB", "BY_LEAF"]
        stored = reply_to(leaf, "far.1", b"hi")
        assert (stored["stream"], stored.get("domain")) == ("BY_LEAF", "hub")
        got = reply_to(leaf, "$JS.hub.API.STREAM.MSG.GET.BY_LEAF", {"seq": 1})
        assert got["message"]["subject"] == "far.1"


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
def test_a_side_without_streams_reaches_those_of_the_other_one(fleet, tmp_path, log_in, kinds):
    hub = ACCOUNTS % HAS + 'jetstream { store_dir: "{folder}", domain: hub }\n'
    pair = Pair(fleet, tmp_path, kinds, hub=hub, leaf=ACCOUNTS % NONE)
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        at_hub, leaf = log_in(one), log_in(other)
        await_names(leaf, "$JS.hub.API")
        create(leaf, "O", "$JS.hub.API", subjects=["o.*"])

        assert names(at_hub) == names(leaf, "$JS.hub.API") == ["O"]
        assert names(leaf) is None


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
@pytest.mark.parametrize("domain", ["", "same"])
def test_no_request_crosses_where_the_domain_is_the_same(fleet, tmp_path, log_in, kinds, domain):
    said = f"jetstream {{ store_dir: '{{folder}}'{f', domain: {domain}' if domain else ''} }}"
    config = f"{ACCOUNTS % HAS}{said}"
    pair = Pair(fleet, tmp_path, kinds, hub=config, leaf=config)
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        hub, leaf = log_in(one), log_in(other)
        for user, name in ((hub, "AT_HUB"), (leaf, "AT_LEAF")):
            create(user, name, subjects=[f"{name}.*"])
        for prefix in ("$JS.API", *(["$JS.same.API"] if domain else [])):
            for user, name in ((hub, "AT_HUB"), (leaf, "AT_LEAF")):
                inbox = user.listen()
                user.request(f"{prefix}.STREAM.NAMES", {}, inbox)
                for _ in range(3):  # so that a second answer had its time
                    create(user, name, subjects=[f"{name}.*"])
                user.send(inbox, b"the last")
                answers = [user.heard(inbox)[1]]
                while answers[-1] != b"the last":
                    answers.append(user.heard(inbox)[1])
                assert [json.loads(it)["streams"] for it in answers[:-1]] == [[name]]


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
def test_nats_finds_streams_by_their_domain(fleet, tmp_path, log_in, kinds, nats_cli):
    both = {
        name: ACCOUNTS % HAS + f'jetstream {{ store_dir: "{{folder}}", domain: {name} }}\n'
        for name in ("hub", "leaf")
    }
    pair = Pair(fleet, tmp_path, kinds, **both)
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        hub, leaf = log_in(one), log_in(other)
        await_names(hub, "$JS.leaf.API")
        await_names(leaf, "$JS.hub.API")
    for here, there in (("hub", "leaf"), ("leaf", "hub")):
        far = (pair.servers[here].url, "--js-domain", there)
        stream = f"FROM_{here}"
        nats_cli.run(*far, "stream", "add", stream, f"--subjects={here}.>", "--defaults")
        nats_cli.run(*far, "pub", f"{here}.x", "hello", "--jetstream")
        nats_cli.run(*far, "consumer", "add", stream, "C", "--pull", "--defaults")
        got = nats_cli.run(*far, "consumer", "next", stream, "C", "--raw")
        near = pair.servers[there].url

        assert got.strip() == "hello"
        assert nats_cli.run(near, "stream", "ls", "--names").split() == [stream]


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
def test_an_account_is_led_to_its_default_domain(fleet, tmp_path, log_in, kinds):
    hub = ACCOUNTS % HAS + 'jetstream { store_dir: "{folder}", domain: hub }\n'
    leaf = ACCOUNTS % NONE + "default_js_domain: { A: hub }\n"
    pair = Pair(fleet, tmp_path, kinds, hub=hub, leaf=leaf)
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        at_hub, at_leaf = log_in(one), log_in(other)
        await_names(at_leaf, "$JS.API")
        create(at_leaf, "O", subjects=["o.*"])

        assert names(at_hub) == names(at_leaf) == ["O"]
        assert reply_to(at_leaf, "o.1", b"hi")["domain"] == "hub"


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
def test_an_account_is_led_to_streams_of_no_domain(fleet, tmp_path, log_in, kinds):
    hub = ACCOUNTS % HAS + 'jetstream { store_dir: "{folder}" }\ndefault_js_domain: { A: "" }\n'
    leaf = ACCOUNTS % NONE + 'default_js_domain: { A: "" }\n'
    pair = Pair(fleet, tmp_path, kinds, hub=hub, leaf=leaf)
    with pair.servers["leaf"].client() as client:
        user = log_in(client)
        await_names(user, "$JS.API")
        create(user, "O", subjects=["o.*"])

        assert names(user) == ["O"]


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
@pytest.mark.parametrize(
    "said", [("domain: hub", "domain: hub"), ("", "extension_hint: will_extend")]
)
def test_a_domain_is_extended_where_the_system_accounts_are_joined(
    fleet, tmp_path, log_in, kinds, said
):
    at_hub, at_leaf = said
    hub = ACCOUNTS % HAS + f'jetstream {{ store_dir: "{{folder}}", {at_hub} }}\n'
    leaf = ACCOUNTS % HAS + f"jetstream {{ enabled: false, {at_leaf} }}\n"
    pair = Pair(fleet, tmp_path, kinds, hub=hub, leaf=leaf, remotes=("A", "$SYS"))
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        hub_user, leaf_user = log_in(one), log_in(other)
        await_names(leaf_user, "$JS.API")
        create(leaf_user, "O", subjects=["o.*"])

        assert names(hub_user) == names(leaf_user) == ["O"]
        assert reply_to(leaf_user, "o.1", b"hi")["stream"] == "O"
