"""Users: who is let in, as what, and for how long."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from framework_auth.operator.user_logins import NeedsAccount, NeedsCallout

from framework.spec import Accepted, Refused, SubjectRules
from framework.wire.nkey import NkeyKind


def test_a_user_of_an_account_is_let_in(realm, mint):
    token = mint.user_token(tags=["a"], pub={"allow": ["x"]}, subs=5, payload=9)
    accepted = realm.log_in(token)

    assert isinstance(accepted, Accepted)
    assert accepted.user == mint.user.public
    assert accepted.account == mint.account.public
    assert accepted.name_tag == "U"
    assert accepted.issuer == mint.account.public
    assert accepted.tags == ("a",)
    assert accepted.permissions.publish == SubjectRules(allow=("x",))
    assert (accepted.limits.max_subscriptions, accepted.limits.max_payload) == (5, 9)
    assert accepted.expires_s == 0
    assert accepted.jwt == token


def test_who_says_nothing_of_permissions_has_those_of_the_account(realm, mint):
    assert realm.log_in(mint.user_token()).permissions is None


def test_an_account_that_is_not_known_must_be_resolved(realm, mint):
    step = realm.log_in(mint.user_token(signer=mint.other))

    assert isinstance(step, NeedsAccount)
    assert step.claims.account == mint.other.public


REFUSED = {
    "no token": ("", "no user JWT"),
    "no JWT": ("abc", "user JWT not valid"),
}


@pytest.mark.parametrize(("token", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_user_is_refused(realm, token, why):
    assert why in realm.log_in(token).detail


def test_a_token_of_another_kind_is_refused(realm, mint):
    assert "UserClaims" in realm.log_in(mint.account_token()).detail


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"exp": 1_799_999_999}, "expired"),
        ({"nbf": 1_800_000_001}, "not yet valid"),
        ({"src": ["10.0.0.0/8"]}, "source network"),
        ({"allowed_connection_types": ["WEBSOCKET"]}, "connection type"),
        ({"allowed_connection_types": ["CARRIER_PIGEON"]}, "connection type"),
        ({"proxy_required": True}, "proxy"),
        ({"times": [{"start": "00:00:00", "end": "00:00:01"}]}, "outside connect times"),
    ],
    ids=str,
)
def test_a_user_who_may_not_connect_now_is_refused(realm, mint, members, why):
    assert why in realm.log_in(mint.user_token(**members)).detail


def test_connection_types_are_named_in_any_case_beside_unknown_ones(realm, mint):
    token = mint.user_token(allowed_connection_types=["standard", "CARRIER_PIGEON"])

    assert isinstance(realm.log_in(token), Accepted)


@pytest.mark.parametrize(
    ("host", "networks", "expected"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8, 11.0.0.0/8", True),
        ("::ffff:10.1.2.3", "10.0.0.0/8", True),
        ("fd00::1", "fd00::/8", True),
        ("fd00::1", "10.0.0.0/8", False),
        ("", "0.0.0.0/0", False),
        ("localhost", "0.0.0.0/0", False),
    ],
)
def test_networks_that_a_user_may_connect_from(realm, mint, host, networks, expected):
    answer = realm.log_in(mint.user_token(src=networks), host=host)

    assert isinstance(answer, Accepted) is expected


def test_the_nonce_must_be_signed_by_the_user(realm, mint, make_request):
    token = mint.user_token()

    assert realm.log_in(token, signer=False).detail == "signature missing"
    assert realm.log_in(token, signer=mint.account).detail == "signature not verified"
    assert realm.log_in(token, nonce=b"another").detail == "signature not verified"
    garbled = realm.logins.begin(make_request(token, sig="ä"), realm.now_s)
    assert garbled.detail == "signature not valid base64"


def test_an_empty_nonce_is_signed_by_nobody(realm, mint):
    answer = realm.log_in(mint.user_token(), nonce=b"")

    assert isinstance(answer, Refused)


def test_a_bearer_need_not_sign_unless_the_account_forbids_it(realm, mint):
    token = mint.user_token(bearer_token=True)

    assert isinstance(realm.log_in(token, signer=False), Accepted)
    realm.put(mint.account_token(limits={"disallow_bearer": True}))
    assert "bearer" in realm.log_in(token, signer=False).detail


def test_a_signing_key_vouches_for_users_of_its_account(realm, mint):
    token = mint.user_token(signer=mint.account_signer, issuer_account=mint.account.public)

    assert realm.log_in(token).detail == "user JWT issuer is not known"
    realm.put(mint.account_token(signing_keys=[mint.account_signer.public]))
    assert isinstance(realm.log_in(token), Accepted)


def test_another_account_vouches_for_nobody_here(realm, mint):
    token = mint.user_token(signer=mint.other, issuer_account=mint.account.public)

    assert realm.log_in(token).detail == "user JWT issuer is not known"


def test_a_strict_operator_lets_signing_keys_sign_alone(make_realm, mint):
    realm = make_realm(operator=mint.operator_token(strict_signing_key_usage=True))
    realm.put(mint.account_token(signing_keys=[mint.account_signer.public]))
    signed = mint.user_token(signer=mint.account_signer, issuer_account=mint.account.public)

    assert realm.log_in(mint.user_token()).detail == "user JWT issuer is not known"
    assert isinstance(realm.log_in(signed), Accepted)


def test_a_scope_says_what_its_users_may(realm, mint):
    template = {"pub": {"allow": ["u.{{name()}}.>"]}, "subs": 3, "bearer_token": True}
    scope = {"kind": "user_scope", "key": mint.account_signer.public, "template": template}
    realm.put(mint.account_token(signing_keys=[scope]))
    accepted = realm.log_in(mint.scoped_token(name="ann"), signer=False)

    assert accepted.permissions.publish.allow == ("u.ann.>",)
    assert (accepted.limits.max_subscriptions, accepted.limits.max_payload) == (3, -1)
    loud = mint.scoped_token(pub={"allow": [">"]})
    assert "scoped users require no permissions" in realm.log_in(loud).detail


@pytest.mark.parametrize("key", ["user", "*"])
def test_revocations_concern_claims_that_were_issued_before(realm, mint, key):
    who = mint.user.public if key == "user" else key
    realm.put(mint.account_token(revocations={who: mint.now_s}))

    assert "revoked" in realm.log_in(mint.user_token()).detail
    assert isinstance(realm.log_in(mint.user_token(issued_s=mint.now_s + 1)), Accepted)


def test_an_expired_account_lets_nobody_in(realm, mint):
    realm.put(mint.account_token(exp=mint.now_s + 10))

    assert isinstance(realm.log_in(mint.user_token()), Accepted)
    realm.now_s += 11
    assert "expired" in realm.log_in(mint.user_token()).detail


def test_a_connection_ends_when_the_claim_or_the_hours_do(realm, mint):
    end = datetime.fromtimestamp(mint.now_s + 30, UTC).time().isoformat("seconds")
    times = [{"start": "00:00:00", "end": end}]
    hours = mint.user_token(times=times, times_location="UTC")

    assert realm.log_in(mint.user_token(exp=mint.now_s + 60)).expires_s == mint.now_s + 60
    assert realm.log_in(hours).expires_s == mint.now_s + 30
    both = mint.user_token(times=times, times_location="UTC", exp=mint.now_s + 60)
    assert realm.log_in(both).expires_s == mint.now_s + 30


def test_hours_may_pass_midnight(realm, mint):
    # 2027-01-15 08:00:00 in UTC.
    times = [{"start": "22:00:00", "end": "09:00:00"}, {"start": "01:00:00", "end": "02:00:00"}]
    accepted = realm.log_in(mint.user_token(times=times, times_location="UTC"))

    assert accepted.expires_s == mint.now_s + 3_600
    realm.now_s += 15 * 3_600
    assert realm.log_in(mint.user_token(times=times, times_location="UTC")).expires_s == (
        realm.now_s + 10 * 3_600
    )


def test_pinned_accounts_and_the_system_account_alone_may_log_in(make_realm, mint):
    realm = make_realm(pinned_accounts=frozenset({mint.other.public}))
    for account in (mint.account, mint.other, mint.system):
        realm.put(mint.account_token(account))

    assert "pinned" in realm.log_in(mint.user_token()).detail
    assert isinstance(realm.log_in(mint.user_token(signer=mint.other)), Accepted)
    assert isinstance(realm.log_in(mint.user_token(signer=mint.system)), Accepted)


def test_a_sentinel_stands_for_who_brings_none(make_realm, mint):
    realm = make_realm(default_sentinel=mint.user_token(bearer_token=True, name="nobody"))
    realm.put(mint.account_token())

    assert realm.log_in("", signer=False).name_tag == "nobody"
    assert realm.log_in("other JWT", signer=False).name_tag == "nobody"


def test_an_account_may_leave_the_decision_to_a_service(realm, mint):
    realm.put(mint.account_token(authorization={"auth_users": [mint.user.public]}))
    stranger = mint.key(NkeyKind.USER, "stranger")
    accepted = realm.log_in(mint.user_token())
    step = realm.log_in(mint.user_token(stranger, bearer_token=True), signer=False)

    assert accepted.permissions.publish.deny == ("$SYS.REQ.USER.AUTH",)
    assert isinstance(step, NeedsCallout)
    assert step.account.claims.name == mint.account.public


class TestRecheck:
    def accepted(self, realm, mint, **members):
        return realm.log_in(mint.user_token(**members))

    def recheck(self, realm, accepted, make_request):
        return realm.logins.recheck(make_request(), accepted.proof, realm.now_s)

    def test_who_was_revoked_goes(self, realm, mint, make_request):
        accepted = self.accepted(realm, mint)
        realm.put(mint.account_token(revocations={mint.user.public: mint.now_s}))

        assert "revoked" in self.recheck(realm, accepted, make_request).detail

    def test_who_is_still_vouched_for_stays_with_other_permissions(self, realm, mint, make_request):
        accepted = self.accepted(realm, mint, pub={"allow": ["a"]})

        assert self.recheck(realm, accepted, make_request) == accepted

    def test_a_scope_that_changed_is_followed(self, realm, mint, make_request):
        def scoped(subject):
            template = {"pub": {"allow": [subject]}}
            key = mint.account_signer.public
            scope = {"kind": "user_scope", "key": key, "template": template}
            realm.put(mint.account_token(signing_keys=[scope]))

        scoped("a")
        accepted = realm.log_in(mint.scoped_token())
        scoped("b")

        now = self.recheck(realm, accepted, make_request)
        assert now.permissions.publish.allow == ("b",)

    def test_a_signing_key_that_is_gone_takes_its_users_along(self, realm, mint, make_request):
        realm.put(mint.account_token(signing_keys=[mint.account_signer.public]))
        token = mint.user_token(signer=mint.account_signer, issuer_account=mint.account.public)
        accepted = realm.log_in(token)
        realm.put(mint.account_token())

        assert "issuer" in self.recheck(realm, accepted, make_request).detail

    def test_an_account_that_is_gone_takes_its_users_along(self, realm, mint, make_request):
        accepted = self.accepted(realm, mint)
        realm.known.remove(mint.account.public, realm.now_s)

        assert "account is gone" in self.recheck(realm, accepted, make_request).detail
