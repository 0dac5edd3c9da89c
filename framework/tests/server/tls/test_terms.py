from __future__ import annotations

import pytest
from msgspec.structs import replace

from framework.server.tls import terms as terms_module
from framework.server.tls.terms import KindTerms


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now_s = 100.0

        def monotonic(self):
            return self.now_s

    clock = Clock()
    monkeypatch.setattr(terms_module, "time", clock)
    return clock


def test_no_more_handshakes_a_second_than_allowed(settings, clock):
    terms = KindTerms(replace(settings, rate_limit=2))

    assert [terms.admits() for _ in range(4)] == [True, True, False, False]
    assert terms.blocked == 2

    clock.now_s += 1.5

    assert terms.admits()


def test_without_a_limit_everybody_may_begin(settings):
    terms = KindTerms(settings)

    assert all(terms.admits() for _ in range(100))


def test_info_comes_before_tls_or_behind_it(settings):
    assert KindTerms(settings).listener_mode == "after_info"
    assert KindTerms(replace(settings, handshake_first=True)).listener_mode == "first"


def test_monitoring_asks_for_no_certificate(settings):
    terms = KindTerms(replace(settings, verify=True))

    assert terms.server_context.verify_mode
    assert not terms.monitor_context.verify_mode


def test_the_end_of_our_certificate_is_known(settings, authority):
    gone = authority.issue("gone", ended=True)
    pair = (str(gone.cert_file), str(gone.key_file))

    assert (
        KindTerms(replace(settings, certificates=(pair,))).not_after_s
        < KindTerms(settings).not_after_s
    )
