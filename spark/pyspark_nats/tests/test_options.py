"""Options: each wrong one is named, with what is valid, and no secret is ever shown."""

from __future__ import annotations

import pytest
from pyspark_nats.errors import OptionError
from pyspark_nats.options import CONNECTION, READ, WRITE, read_options, write_options

GOOD = {"servers": "nats://127.0.0.1:4222", "stream": "S"}
SECRET = "s3cret"
OF_ANY_TEXT = {"user", "password", "token"}
WRONG_READS = [
    ({"stream": "S"}, "servers", "nats://host:port"),
    ({"servers": "http://x"}, "servers", "nats://host:port"),
    ({"servers": "nats://a:x"}, "servers", "nats://host:port"),
    ({"servers": ","}, "servers", "nats://host:port"),
    ({"streams": "B"}, "streams", "streamPattern"),
    ({"stream": "a.b"}, "stream", "without space"),
    ({"stream": ""}, "stream", "subscribe"),
    ({"stream": "", "streamPattern": "("}, "streamPattern", "regular expression"),
    ({"stream": "", "subscribe": "a..b"}, "subscribe", "joined by dots"),
    ({"subject": "a.>.b"}, "subject", "joined by dots"),
    ({"startingOffsets": "first"}, "startingOffsets", "earliest, latest"),
    ({"startingOffsets": "[1]"}, "startingOffsets", "earliest, latest"),
    ({"startingOffsets": '{"S": 0}'}, "startingOffsets", "earliest, latest"),
    ({"startingOffsets": '{"S": true}'}, "startingOffsets", "earliest, latest"),
    ({"endingOffsets": "earliest"}, "endingOffsets", "latest"),
    ({"startingTimestamp": "now"}, "startingTimestamp", "milliseconds"),
    ({"endingTimestamp": "1.5"}, "endingTimestamp", "milliseconds"),
    ({"startingTimestamp": "1", "startingOffsets": "latest"}, "startingTimestamp", "one of"),
    ({"startingOffsetsByTimestamp": "7"}, "startingOffsetsByTimestamp", "milliseconds"),
    ({"endingOffsetsByTimestamp": '{"S": "7"}'}, "endingOffsetsByTimestamp", "milliseconds"),
    (
        {"endingTimestamp": "1", "endingOffsetsByTimestamp": '{"S": 7}'},
        *("endingOffsetsByTimestamp", "one of"),
    ),
    ({"failOnDataLoss": "no"}, "failOnDataLoss", "true, false"),
    ({"minPartitions": "0"}, "minPartitions", "from 1 on"),
    ({"maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition", "from 1 on"),
    ({"maxOffsetsPerTrigger": "1e3"}, "maxOffsetsPerTrigger", "from 1 on"),
    ({"maxTriggerDelay": "soon"}, "maxTriggerDelay", "500ms"),
    ({"columns": "subject,offset"}, "columns", "sequence"),
    ({"columns": "data,data"}, "columns", "each once"),
    ({"tls.ca": "nowhere.pem"}, "tls.ca", "PEM"),
    ({"token": "t", "user": "u"}, "token", "one way"),
    ({"credentials": "nowhere.creds"}, "credentials", "a path"),
    ({"credentials": "-----BEGIN"}, "credentials", ".creds"),
    ({"progress": "a b"}, "progress", "key of a KV bucket"),
    ({"maxOffsetPerTrigger": "1"}, "maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
    ({"path": "x"}, "path", "without a path"),
    ({"ackWindow": "1"}, "ackWindow", "stream"),
    ({"maxBytesPerTrigger": "1MB"}, "maxBytesPerTrigger", "from 1 on"),
    ({"minOffsetsPerTrigger": "0"}, "minOffsetsPerTrigger", "from 1 on"),
    ({"includeHeaders": "1"}, "includeHeaders", "true, false"),
    ({"filterPushdown": "on"}, "filterPushdown", "true, false"),
    ({"batchRows": "many"}, "batchRows", "from 1 on"),
    ({"protocol": "push"}, "protocol", "auto, consumer, direct, export"),
    ({"view": "rows"}, "view", "messages"),
    ({"domain": "hub.east"}, "domain", "without space, dot"),
    ({"domain": "hub x"}, "domain", "without space, dot"),
    ({"connectTimeout": "0"}, "connectTimeout", "500ms"),
    ({"requestTimeout": "-1s"}, "requestTimeout", "500ms"),
    ({"reconnectTimeout": "1d"}, "reconnectTimeout", "500ms"),
    ({"nkey": "nowhere.nk"}, "nkey", "a path"),
    ({"tls.cert": "nowhere.pem"}, "tls.cert", "PEM"),
    ({"tls.key": "nowhere.pem"}, "tls.key", "PEM"),
    ({"tls.first": "yes"}, "tls.first", "true, false"),
]
WRONG_WRITES = [
    ({"delivery": "fast"}, "delivery", "jetstream, core"),
    ({"idempotence": "yes"}, "idempotence", "msgid, ledger, none"),
    ({"delivery": "core", "idempotence": "msgid"}, "idempotence", "none"),
    ({"subject": "a.*"}, "subject", "joined by dots"),
    ({"ackWindow": "0"}, "ackWindow", "from 1 on"),
    ({"startingOffsets": "latest"}, "startingOffsets", "subject"),
    ({"stream": "a.b"}, "stream", "without space"),
    ({"ledgerStream": "a b"}, "ledgerStream", "without space"),
    ({"idempotencyKey": "a.b"}, "idempotencyKey", "letters"),
]
"""Options, the one that is named, and what is said of it."""


def test_defaults():
    options = read_options(GOOD)

    assert ("127.0.0.1", 4222) == (
        options.target.addresses[0].host,
        options.target.addresses[0].port,
    )
    assert (True, 250_000, (), None) == (
        options.fail_on_data_loss,
        options.partition_rows_max,
        options.subjects,
        options.starting,
    )


def test_servers_may_be_in_the_environment(monkeypatch):
    monkeypatch.setenv("NATS_URL", "tls://a:1, nats://b")
    options = read_options({"stream": "S"})

    assert [("a", 1, True), ("b", 4222, False)] == [
        (it.host, it.port, it.tls) for it in options.target.addresses
    ]


@pytest.mark.parametrize(("options", "name", "valid"), WRONG_READS)
def test_a_wrong_option_of_a_read_is_named(options, name, valid, monkeypatch):
    monkeypatch.delenv("NATS_URL", raising=False)
    given = {key: value for key, value in {**GOOD, **options}.items() if value}
    if options.get("stream") and len(options) == 1 and name == "servers":
        given = options

    with pytest.raises(OptionError) as raised:
        read_options(given)

    assert name == raised.value.option
    assert valid in str(raised.value)


@pytest.mark.parametrize(("options", "name", "valid"), WRONG_WRITES)
def test_a_wrong_option_of_a_write_is_named(options, name, valid):
    with pytest.raises(OptionError) as raised:
        write_options({"servers": "127.0.0.1", **options})

    assert name == raised.value.option
    assert valid in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"user": "u", "password": SECRET},
        {"token": SECRET},
        {"servers": f"nats://u:{SECRET}@127.0.0.1"},
        {"servers": f"nats://{SECRET}@127.0.0.1"},
        {"nkey": f"SU{SECRET}"},
        {"secret.nkey": f"SU{SECRET}"},
    ],
)
def test_no_secret_is_shown(options):
    found = read_options({**GOOD, **options})
    login = found.target.credentials

    assert SECRET in login.password + login.token + login.seed
    assert SECRET not in repr(found)


def test_no_secret_is_in_an_error():
    with pytest.raises(OptionError) as raised:
        read_options({**GOOD, "servers": f"nats://u:{SECRET}@host:port"})

    assert SECRET not in str(raised.value)


def test_every_option_is_refused_by_its_name():
    """There is no option of which a wrong value goes unsaid, but those that any text may be."""
    refused = {name for _, name, _ in (*WRONG_READS, *WRONG_WRITES)}

    assert {*CONNECTION, *READ, *WRITE} - OF_ANY_TEXT <= refused


def test_names_have_no_case():
    assert read_options({"SERVERS": "a", "Stream": "S", "MINPARTITIONS": "3"}).partitions_min == 3
