"""From the claims of accounts to what the server knows of them."""

from __future__ import annotations

import pytest
from framework_auth.claims import AccountClaims, ClaimsError, read_claims_of

from framework.spec import (
    ALL_TIERS,
    AccountLimits,
    JetStreamLimits,
    LatencySampling,
    MappedDestination,
    ResponseKind,
    ServiceExport,
    ServiceImport,
    StreamExport,
    StreamImport,
    SubjectMapping,
)
from framework.wire.nkey import NkeyKind


def spec_of(realm, token):
    return realm.put(token)[0].spec


def test_limits(realm, mint):
    limits = {"conn": 1, "leaf": 2, "subs": 3, "payload": 4, "imports": 5, "exports": 6}
    spec = spec_of(realm, mint.account_token(limits={**limits, "wildcards": False}))

    assert spec.limits == AccountLimits(
        max_connections=1,
        max_leafnodes=2,
        max_subscriptions=3,
        max_payload=4,
        max_imports=5,
        max_exports=6,
        wildcard_exports=False,
    )


def test_what_is_said_of_an_account(realm, mint):
    token = mint.account_token(
        name="acme",
        exp=mint.now_s + 60,
        tags=["a"],
        default_permissions={"sub": {"deny": ["x"]}},
        mappings={"a.*": [{"subject": "b.$1", "weight": 40}, {"subject": "c", "cluster": "e"}]},
        trace={"dest": "t", "sampling": 7},
    )
    spec = spec_of(realm, token)

    assert (spec.name, spec.name_tag) == (mint.account.public, "acme")
    assert spec.claim == token
    assert spec.issuer == mint.operator_signer.public
    assert spec.tags == ("a",)
    assert spec.expires_s == mint.now_s + 60
    assert spec.default_permissions.subscribe.deny == ("x",)
    destinations = (
        MappedDestination(subject="b.$1", weight=40),
        MappedDestination(subject="c", cluster="e"),
    )
    assert spec.mappings == (SubjectMapping(source="a.*", destinations=destinations),)
    assert (spec.trace_destination, spec.trace_sampling_percent) == ("t", 7)
    assert spec.jetstream is None


def test_streams_are_limited_in_all_or_by_tier(mint):
    def limits(**members):
        return read_claims_of(AccountClaims, mint.account_token(limits=members)).stream_limits

    assert limits() == {}
    assert limits(mem_storage=1, disk_storage=-1, streams=2) == {
        ALL_TIERS: JetStreamLimits(max_memory=1, max_storage=-1, max_streams=2, max_consumers=0)
    }
    assert set(limits(tiered_limits={"R1": {"disk_storage": 5}, "R3": {}})) == {"R1"}


def test_exports(realm, mint):
    exports = [
        {"subject": "s.*", "type": "stream", "token_req": True, "account_token_position": 2},
        {
            "subject": "q",
            "type": "service",
            "response_type": "Stream",
            "response_threshold": 5_000_000_000,
            "service_latency": {"sampling": "headers", "results": "lat"},
            "revocations": {"*": 5},
            "allow_trace": True,
        },
    ]
    spec = spec_of(realm, mint.account_token(exports=exports))

    assert spec.stream_exports == (
        StreamExport(subject="s.*", token_required=True, account_token_position=2),
    )
    assert spec.service_exports == (
        ServiceExport(
            subject="q",
            response=ResponseKind.STREAM,
            threshold_s=5.0,
            latency=LatencySampling(subject="lat", percent=0),
            revoked=(("*", 5),),
            allow_trace=True,
        ),
    )


def test_imports(realm, mint):
    other = mint.other.public
    imports = [
        {"account": other, "subject": "s.*", "type": "stream", "local_subject": "x.$1"},
        {"account": other, "subject": "old", "type": "stream", "to": "pre"},
        {"account": other, "subject": "q", "type": "service", "share": True},
        {"account": other, "subject": "mine", "type": "service", "to": "theirs"},
        {"account": other, "subject": "far", "type": "service", "local_subject": "near"},
    ]
    spec = spec_of(realm, mint.account_token(imports=imports))

    assert spec.stream_imports == (
        StreamImport(account=other, subject="s.*", to="x.$1"),
        StreamImport(account=other, subject="old", to="pre.old"),
    )
    assert spec.service_imports == (
        ServiceImport(account=other, subject="q", to="q", share=True),
        ServiceImport(account=other, subject="theirs", to="mine"),
        ServiceImport(account=other, subject="far", to="near"),
    )
    assert list(realm.known.missing_exporters(mint.account.public)) == [other]


class TestActivations:
    def importer(self, mint, token):
        wanted = {"account": mint.other.public, "subject": "s.a", "type": "stream", "token": token}
        return mint.account_token(imports=[wanted])

    def activation(self, mint, *, signer=None, to=None, exp=0, **nats):
        nats = {"subject": "s.*", "kind": "stream", **nats}
        subject = (to or mint.account).public
        signer = signer or mint.other
        return mint.token("activation", subject, signer, nats, issued_s=mint.now_s - 5, exp=exp)

    def activated_s(self, realm, mint, token):
        realm.put(mint.account_token(mint.other, signing_keys=[mint.account_signer.public]))
        built = realm.put(self.importer(mint, token))[0]
        assert bool(built.problems) is (built.spec.stream_imports[0].activated_s is None)
        return built.spec.stream_imports[0].activated_s

    def test_the_exporter_lets_in_whom_it_names(self, realm, mint):
        assert self.activated_s(realm, mint, self.activation(mint)) == mint.now_s - 5

    def test_a_signing_key_of_the_exporter_does(self, realm, mint):
        token = self.activation(mint, signer=mint.account_signer, issuer_account=mint.other.public)

        assert self.activated_s(realm, mint, token) == mint.now_s - 5

    def test_nobody_else_does(self, realm, mint):
        wrong = {
            "another account": self.activation(mint, signer=mint.system),
            "a foreign key": self.activation(
                mint, signer=mint.system, issuer_account=mint.other.public
            ),
            "for another importer": self.activation(mint, to=mint.system),
            "another kind": self.activation(mint, kind="service"),
            "another subject": self.activation(mint, subject="t"),
            "expired": self.activation(mint, exp=mint.now_s - 1),
        }
        made = {why: self.activated_s(realm, mint, token) for why, token in wrong.items()}

        assert made == dict.fromkeys(wrong)

    def test_an_exporter_that_comes_later_lets_importers_in(self, realm, mint):
        built = realm.put(self.importer(mint, self.activation(mint)))
        later = realm.put(mint.account_token(mint.other))

        assert built[0].spec.stream_imports[0].activated_s is None
        assert [it.spec.name for it in later] == [mint.other.public, mint.account.public]
        assert later[1].spec.stream_imports[0].activated_s == mint.now_s - 5

    def test_an_activation_ends(self, realm, mint):
        end_s = mint.now_s + 10
        assert self.activated_s(realm, mint, self.activation(mint, exp=end_s)) is not None
        assert realm.known.next_end_s() == end_s + 1
        (built,) = realm.known.receive_time(end_s + 1)

        assert built.spec.stream_imports[0].activated_s is None
        assert realm.known.next_end_s() == 0


def test_an_account_that_is_removed_leaves_its_importers(realm, mint):
    wanted = {"account": mint.other.public, "subject": "s", "type": "stream"}
    realm.put(mint.account_token(mint.other))
    realm.put(mint.account_token(imports=[wanted]))
    left = realm.known.remove(mint.other.public, mint.now_s)

    assert [it.spec.name for it in left] == [mint.account.public]
    assert realm.known.get(mint.other.public) is None


NOT_TRUSTED = {
    "self-signed": {"signer": "account"},
    "of a foreign operator": {"signer": "foreign"},
    "expired": {"exp": 1_799_999_000},
}


@pytest.mark.parametrize("members", NOT_TRUSTED.values(), ids=NOT_TRUSTED)
def test_accounts_that_do_not_count(realm, mint, members):
    members = {**members}
    signer = members.pop("signer", None)
    keys = {"account": mint.account, "foreign": mint.key(NkeyKind.OPERATOR, "foreign")}
    with pytest.raises(ClaimsError):
        realm.put(mint.account_token(signer=keys.get(signer), **members))


def test_the_account_of_another_name_does_not_count(realm, mint):
    with pytest.raises(ClaimsError, match="does not match"):
        realm.trust.check_account(mint.account_token(), mint.other.public, mint.now_s)


WRONG = {
    "more imports than allowed": {"limits": {"imports": 0}, "imports": ["import"]},
    "more exports than allowed": {"limits": {"exports": 0}, "exports": ["export"]},
    "wildcards": {"limits": {"exports": 1, "wildcards": False}, "exports": [{"subject": "a.*"}]},
    "exports that overlap": {"exports": [{"subject": "a.*"}, {"subject": "a.b"}]},
    "imports that overlap": {
        "imports": [{"subject": "a", "type": "service"}, {"subject": "a", "type": "service"}]
    },
    "an export of no kind": {"exports": [{"type": "x"}]},
    "an export without subject": {"exports": [{"subject": ""}]},
    "a stream with responses": {"exports": [{"response_type": "Stream"}]},
    "a stream with latency": {"exports": [{"service_latency": {"results": "a"}}]},
    "latency of more than all": {
        "exports": [{"type": "service", "service_latency": {"results": "a", "sampling": 101}}]
    },
    "latency to a wildcard": {
        "exports": [{"type": "service", "service_latency": {"results": ">"}}]
    },
    "a position without wildcard": {"exports": [{"subject": "a.b", "account_token_position": 1}]},
    "a position beyond": {"exports": [{"subject": "a.*", "account_token_position": 3}]},
    "an import from nobody": {"imports": [{"account": ""}]},
    "an import of both names": {"imports": [{"to": "a", "local_subject": "b"}]},
    "a name without its wildcard": {"imports": [{"subject": "a.*", "local_subject": "b"}]},
    "a name of another's wildcard": {"imports": [{"subject": "a.*", "local_subject": "b.$2"}]},
    "a shared stream": {"imports": [{"share": True}]},
    "a mapping beyond all": {"mappings": {"a": [{"subject": "b", "weight": 60}] * 2}},
    "a mapping of no subject": {"mappings": {"a..b": [{"subject": "b"}]}},
    "a signing key of a user": {"signing_keys": ["user"]},
    "an unknown scope": {"signing_keys": [{"kind": "x", "key": "A"}]},
    "a trace to a wildcard": {"trace": {"dest": ">"}},
    "auth users that are none": {"authorization": {"auth_users": ["ann"]}},
    "allowed accounts without users": {"authorization": {"allowed_accounts": ["*"]}},
    "everybody and somebody": {
        "authorization": {"auth_users": ["user"], "allowed_accounts": ["*", "account"]}
    },
    "an xkey that is none": {"authorization": {"auth_users": ["user"], "xkey": "account"}},
    "a permission with two groups": {"default_permissions": {"sub": {"allow": ["a b c"]}}},
    "a queue to publish to": {"default_permissions": {"pub": {"allow": ["a b"]}}},
    "an empty permission": {"default_permissions": {"pub": {"deny": [""]}}},
}


@pytest.mark.parametrize("nats", WRONG.values(), ids=WRONG)
def test_claims_that_no_account_may_make_are_refused(mint, nats):
    with pytest.raises(ClaimsError):
        read_claims_of(AccountClaims, mint.account_token(**complete(mint, nats)))


def complete(mint, value):
    """Fill in keys, and what an import or an export needs besides."""
    keys = {"user": mint.user.public, "account": mint.account.public}
    export = {"subject": "a", "type": "stream"}
    match value:
        case "import":
            return {**export, "account": mint.other.public}
        case "export":
            return export
        case str():
            return keys.get(value, value)
        case dict():
            done = {key: complete(mint, item) for key, item in value.items()}
            for key in {"exports", "imports"} & done.keys():
                if isinstance(done[key], list):
                    extra = {"account": mint.other.public} if key == "imports" else {}
                    done[key] = [{**export, **extra, **item} for item in done[key]]
            return done
        case list():
            return [complete(mint, item) for item in value]
        case _:
            return value
