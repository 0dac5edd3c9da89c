"""Accounts as files write them, and as the core is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from framework_auth.account_plan import account_plan
from framework_auth.config import AUTHORIZATION_SECTION

from framework.spec import (
    ALL_TIERS,
    AccountLimits,
    JetStreamLimits,
    LatencySampling,
    MappedDestination,
    Permissions,
    ResponseKind,
    ResponsePermission,
    ServiceExport,
    ServiceImport,
    StreamExport,
    StreamImport,
    SubjectMapping,
    SubjectRules,
)
from framework.topology import Schema, read_server_conf

SCHEMA = Schema([AUTHORIZATION_SECTION])
EXAMPLE = Path(__file__).parents[3] / "examples" / "accounts.conf"
OTHER = "O { exports: [ {stream: s.>}, {service: q.>}, {service: one} ] }"


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "server.conf"
        path.write_text(text)
        return account_plan(read_server_conf(path, SCHEMA).values)

    return read_text


@pytest.fixture
def account(read):
    """Read one account named A, beside one that exports."""

    def read_inside(inside):
        plan = read(f"accounts {{ A {{ {inside} }}, {OTHER} }}")
        return next(spec for spec in plan.accounts if spec.name == "A")

    return read_inside


@pytest.mark.parametrize(
    ("text", "names", "system"),
    [
        ("", [], "$SYS"),
        ("accounts: [A, B]", ["A", "B"], "$SYS"),
        ("accounts { A {}, B {} }\nsystem_account: B", ["A", "B"], "B"),
        ("accounts { A {} }\nsystem: A", ["A"], "A"),
        ("no_sys_acc: true", [], ""),
        ("accounts { A {} }\nsystem_account: A\nno_system_account: true", ["A"], ""),
        ("mappings: {a: b}", ["$G"], "$SYS"),
    ],
)
def test_which_accounts_there_are(read, text, names, system):
    plan = read(text)

    assert [spec.name for spec in plan.accounts] == names
    assert plan.system_account == system


EXPORTS = {
    "stream: a.>": StreamExport(subject="a.>"),
    "stream: a, accounts: [O]": StreamExport(subject="a", accounts=("O",)),
    "stream: a, accounts: []": StreamExport(subject="a"),
    "stream: a.*, account_token_position: 2": StreamExport(subject="a.*", account_token_position=2),
    "service: q": ServiceExport(subject="q"),
    "service: q, response: Single": ServiceExport(subject="q"),
    "service: q, response_type: stream": ServiceExport(subject="q", response=ResponseKind.STREAM),
    "service: q, response: chunk": ServiceExport(subject="q", response=ResponseKind.CHUNKED),
    'service: q, threshold: "5s"': ServiceExport(subject="q", threshold_s=5.0),
    'service: q, response_max_time: "1m"': ServiceExport(subject="q", threshold_s=60.0),
    "service: q, latency: l": ServiceExport(subject="q", latency=LatencySampling(subject="l")),
    "service: q, latency: {sampling: 50%, subject: l}": ServiceExport(
        subject="q", latency=LatencySampling(subject="l", percent=50)
    ),
    "service: q, latency: {sampling: headers, subject: l}": ServiceExport(
        subject="q", latency=LatencySampling(subject="l", percent=0)
    ),
    "service: q, allow_trace: true": ServiceExport(subject="q", allow_trace=True),
}


@pytest.mark.parametrize(("inside", "export"), EXPORTS.items(), ids=EXPORTS)
def test_exports(account, inside, export):
    spec = account(f"exports: [ {{ {inside} }} ]")

    assert (*spec.stream_exports, *spec.service_exports) == (export,)


STREAM = "stream: {account: O, subject: s.*}"
SERVICE = "service: {account: O, subject: q.*}"
IMPORTS = {
    STREAM: StreamImport(account="O", subject="s.*", to="s.*"),
    f"{STREAM}, prefix: p": StreamImport(account="O", subject="s.*", to="p.s.*"),
    f"{STREAM}, prefix: p.": StreamImport(account="O", subject="s.*", to="p.s.*"),
    f'{STREAM}, to: "t.$1"': StreamImport(account="O", subject="s.*", to="t.$1"),
    f"to: t.*, {STREAM}": StreamImport(account="O", subject="s.*", to="t.*"),
    f"{STREAM}, allow_trace: true": StreamImport(
        account="O", subject="s.*", to="s.*", allow_trace=True
    ),
    SERVICE: ServiceImport(account="O", subject="q.*", to="q.*"),
    f'{SERVICE}, to: "x.$1"': ServiceImport(account="O", subject="q.*", to="x.$1"),
    f"{SERVICE}, share: true": ServiceImport(account="O", subject="q.*", to="q.*", share=True),
    "service: {account: O, subject: one}, to: two": ServiceImport(
        account="O", subject="one", to="two"
    ),
}


@pytest.mark.parametrize(("inside", "made"), IMPORTS.items(), ids=IMPORTS)
def test_imports(account, inside, made):
    spec = account(f"imports: [ {{ {inside} }} ]")

    assert (*spec.stream_imports, *spec.service_imports) == (made,)


def mapping(source, *destinations):
    return SubjectMapping(source=source, destinations=destinations)


MAPPINGS = {
    "a: b": mapping("a", MappedDestination(subject="b")),
    'a.*: "b.$1"': mapping("a.*", MappedDestination(subject="b.$1")),
    "a: {dest: b, weight: 20%}": mapping("a", MappedDestination(subject="b", weight=20)),
    "a: [ {destination: b, weight: 20}, {dest: c, weight: 80%, cluster: C} ]": mapping(
        "a",
        MappedDestination(subject="b", weight=20),
        MappedDestination(subject="c", weight=80, cluster="C"),
    ),
    "a: [ {dest: a, weight: 100}, {dest: b, weight: 100, cluster: C} ]": mapping(
        "a",
        MappedDestination(subject="a"),
        MappedDestination(subject="b", cluster="C"),
    ),
}


@pytest.mark.parametrize("where", ["$G", "A"])
@pytest.mark.parametrize(("inside", "made"), MAPPINGS.items(), ids=MAPPINGS)
def test_mappings(read, where, inside, made):
    block = f"mappings {{ {inside} }}"
    plan = read(block if where == "$G" else f"accounts {{ A {{ {block} }} }}")

    assert plan.accounts[0].name == where
    assert plan.accounts[0].mappings == (made,)


def test_limits_and_the_rest(account):
    spec = account(
        "limits { max_conn: 3, max_subs: 4, max_pay: 1KB, max_leafs: 0 }, nkey:"
        " ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA,"
        " default_permissions { publish: a }, trace_dest: t, jetstream: { max_mem: 5 }"
    )

    assert spec.limits == AccountLimits(
        max_connections=3, max_subscriptions=4, max_payload=1024, max_leafnodes=0
    )
    assert spec.default_permissions == Permissions(publish=SubjectRules(allow=("a",)))
    assert (spec.trace_destination, spec.trace_sampling_percent) == ("t", 100)
    assert spec.jetstream == {ALL_TIERS: JetStreamLimits(max_memory=5)}
    assert account("msg_trace { dest: t, sampling: 7% }").trace_sampling_percent == 7


PERMISSIONS = {
    "publish: a": Permissions(publish=SubjectRules(allow=("a",))),
    "pub: [a, b.*]": Permissions(publish=SubjectRules(allow=("a", "b.*"))),
    "publish: {deny: a}": Permissions(publish=SubjectRules(deny=("a",))),
    'sub: {allow: ["a q", b], deny: ["c.> *"]}': Permissions(
        subscribe=SubjectRules(allow=("a q", "b"), deny=("c.> *",))
    ),
    "import: a, export: b": Permissions(
        publish=SubjectRules(allow=("a",)), subscribe=SubjectRules(allow=("b",))
    ),
    "allow_responses: true": Permissions(responses=ResponsePermission()),
    "allow_responses: false": Permissions(),
    'allow_responses: {max: 5, expires: "1m"}': Permissions(
        responses=ResponsePermission(max_msgs=5, expires_s=60.0)
    ),
    'publish_allow_responses: {max_msgs: 0, ttl: "0s"}': Permissions(
        responses=ResponsePermission()
    ),
    'allow_responses: {max_responses: -1, expiration: "-1s"}': Permissions(
        responses=ResponsePermission(max_msgs=-1, expires_s=-1.0)
    ),
    "": Permissions(),
}


@pytest.mark.parametrize(("inside", "permissions"), PERMISSIONS.items(), ids=PERMISSIONS)
def test_permissions(account, inside, permissions):
    assert account(f"default_permissions {{ {inside} }}").default_permissions == permissions


def test_the_example_is_read():
    plan = account_plan(read_server_conf(EXAMPLE, SCHEMA).values)

    assert [spec.name for spec in plan.accounts] == ["SHOP", "BILLING", "PUBLIC", "$SYS"]
