from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.topology.units import (
    duration_text_from_seconds,
    join_address,
    listen_from_text,
    seconds_from_text,
    size_from_text,
    size_text_from_bytes,
    split_listen_url,
    split_url,
    url_with_login,
    without_password,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("10s", 10),
        ("250ms", 0.25),
        ("1m30s", 90),
        ("2h45m", 9900),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("-1s", -1),
        ("+1s", 1),
        ("3us", 3e-6),
        ("3\N{MICRO SIGN}s", 3e-6),
        ("3\N{GREEK SMALL LETTER MU}s", 3e-6),
        ("7ns", 7e-9),
    ],
)
def test_durations_as_go_writes_them(text, seconds):
    assert seconds_from_text(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "10 s", "1d", "1s2", "--1s", "1..5s", "٣s"])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="expected a duration such as 10s"):
        seconds_from_text(text)


@given(st.integers(0, 10**8))
def test_a_duration_is_read_as_it_was_written(milliseconds):
    seconds = milliseconds / 1000

    assert seconds_from_text(duration_text_from_seconds(seconds)) == pytest.approx(
        seconds, rel=1e-4
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (120, "2m0s"), (3600, "1h0m0s"), (0.25, "250ms"), (2, "2s")]
)
def test_durations_are_written_as_go_does(seconds, text):
    assert duration_text_from_seconds(seconds) == text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("4096b", 4096),
        ("1k", 1000),
        ("1K", 1000),
        ("1kb", 1024),
        ("1KiB", 1024),
        ("1Ki", 1024),
        ("8MB", 8 * 1024**2),
        ("8m", 8_000_000),
        ("2GB", 2 * 1024**3),
        ("-1", -1),
    ],
)
def test_sizes(text, size):
    assert size_from_text(text) == size


@pytest.mark.parametrize("text", ["", "k", "1x", "1kbb", "1.5k", "1i", "1 k", "9" * 5000])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="expected a size such as"):
        size_from_text(text)


@given(st.integers(0, 2**60))
def test_a_size_is_read_as_it_was_written(size):
    assert size_from_text(size_text_from_bytes(size)) == size


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("4222", ("", 4222)),
        ("-1", ("", -1)),
        (":4222", ("", 4222)),
        ("localhost:4222", ("localhost", 4222)),
        ("127.0.0.1:-1", ("127.0.0.1", -1)),
        ("[::1]:4222", ("::1", 4222)),
    ],
)
def test_addresses(text, address):
    assert listen_from_text(text) == address


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("localhost", "could not parse address string"),
        ("::1:4222", "could not parse address string"),
        ("localhost:http", 'could not parse port "http"'),
        ("localhost:", 'could not parse port ""'),
        ("localhost:99999", "expected a port from -1 to 65535"),
        ("localhost:-2", "expected a port from -1 to 65535"),
        ("1" * 5000, "could not parse port"),
    ],
)
def test_what_is_no_address(text, problem):
    with pytest.raises(ValueError, match=problem):
        listen_from_text(text)


@pytest.mark.parametrize("address", [("localhost", 4222), ("::1", -1)])
def test_an_address_is_read_as_it_was_written(address):
    assert listen_from_text(join_address(*address)) == address


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("nats://localhost:4248", ("localhost", 4248, None, None)),
        ("nats://0.0.0.0:-1", ("0.0.0.0", -1, None, None)),
        ("nats://:4248", ("", 4248, None, None)),
        ("nats://a:p%40@localhost:4248", ("localhost", 4248, "a", "p@")),
    ],
)
def test_urls_to_listen_on(url, parts):
    assert split_listen_url(url) == parts


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("nats://localhost", "missing port in address nats://localhost"),
        ("nats://a@localhost:1", "expected cluster password to be set"),
        ("localhost:4248", "expected a URL such as nats://host:6222, found localhost:4248"),
        ("nats://a:b@host:x", r"expected a URL such as .*, found nats://\*\*\*@host:x"),
    ],
)
def test_what_cannot_be_listened_on(url, problem):
    with pytest.raises(ValueError, match=problem):
        split_listen_url(url)


@pytest.mark.parametrize(
    "url", ["", "host", "nats:", "nats://a b:1", "nats://h:99999", "nats://[:1"]
)
def test_what_is_no_url(url):
    with pytest.raises(ValueError, match="expected a URL such as"):
        split_url(url)


def test_a_login_is_quoted_and_hidden():
    url = url_with_login("nats", "host:1", "a:b", "c@d/e")

    assert url == "nats://a%3Ab:c%40d%2Fe@host:1"
    assert without_password(url) == "nats://***@host:1"
    assert url_with_login("nats", "host:1", "", "") == "nats://host:1"
