"""No secret is in what Spark writes down: logs of its drivers, plans, events, checkpoints."""

from __future__ import annotations

import json
import subprocess
import sys

import nkeys
import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")

PASSWORD = "s3cretpassw0rd"
SEED = nkeys.encode_seed(b"\7" * 32, nkeys.PREFIX_BYTE_USER).decode()
PUBLIC = nkeys.from_seed(SEED.encode()).public_key.decode()
USERS = f"""
authorization {{ users: [ {{ user: ann, password: "{PASSWORD}" }}, {{ nkey: "{PUBLIC}" }} ] }}
"""
ALL = """
import json
import sys
from pathlib import Path

from pyspark_nats import local_session

stream, folder = sys.argv[1:]
events = Path(folder, "events")
events.mkdir(parents=True)
spark = local_session({
    "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": events.as_uri(),
    "spark.eventLog.compress": "false",
    "spark.sql.warehouse.dir": f"{folder}/warehouse",
}, memory="512m")
spark.sparkContext.setLogLevel("DEBUG")
for at, login in enumerate(json.load(sys.stdin)):
    if "secret.nkey" in login or "secret.servers" in login:  # as in a session of somebody's own
        spark.conf.set("spark.sql.redaction.options.regex", "(?i)url")
    frame = spark.read.format("nats").options(stream=stream, **login).load()
    frame.explain(True)
    assert frame.count()
    frame.createOrReplaceTempView("orders")
    spark.sql("select subject from orders where sequence = 1").explain("formatted")
    data = frame.select("data")
    data.write.format("nats").mode("append").options(subject=f"{stream}.x", **login).save()
    rows = spark.readStream.format("nats").options(
        stream=stream, startingOffsets="earliest", **login
    ).load().select("data")
    for to, options in (
        ("parquet", {"path": f"{folder}/rows-{at}"}),
        ("nats", {"subject": f"{stream}.x", **login}),
    ):
        query = (
            rows.writeStream.format(to).options(**options)
            .option("checkpointLocation", f"{folder}/checkpoint-{to}-{at}")
            .trigger(availableNow=True).start()
        )
        query.awaitTermination()
        query.explain(True)
        print(query.lastProgress)
    try:
        spark.read.format("nats").options(stream="NONE", **login).load().count()
    except Exception as error:
        print(error)
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.once
@pytest.mark.timeout(240)
def test_no_secret_is_written_down(own_store, tmp_path):
    """Of reads and writes, batches and queries, at a level of logs that says everything."""
    store = own_store(USERS, user="ann", password=PASSWORD)
    stream = store.stream(10)
    host = f"127.0.0.1:{store.server.port}"
    logins = [
        {"servers": host, "user": "ann", "password": PASSWORD},
        {"servers": f"nats://ann:{PASSWORD}@{host}"},
        {"servers": host, "nkey": SEED},
        {"secret.servers": f"nats://ann:{PASSWORD}@{host}"},
        {"servers": host, "secret.nkey": SEED},
    ]
    done = subprocess.run(
        [sys.executable, "-c", ALL, stream, str(tmp_path / "written")],
        input=json.dumps(logins), check=False, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    files = [it for it in (tmp_path / "written").rglob("*") if it.is_file()]
    written = {str(it): it.read_text("utf-8", errors="replace") for it in files}
    written |= {"stdout": done.stdout, "stderr": done.stderr}

    assert 0 == done.returncode, done.stderr[-4000:]
    assert any("eventlog" in name for name in written)
    assert "DEBUG" in done.stderr
    told = [around(text, secret) for secret in (PASSWORD, SEED) for text in written.values()]
    assert "" == "\n".join(filter(None, told))


def around(text, secret):
    """Return where a secret stands in a text; empty: it does not."""
    at = text.find(secret)
    return "" if at < 0 else text[max(at - 400, 0) : at + len(secret)]
