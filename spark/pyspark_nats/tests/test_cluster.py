"""A cluster of Spark: two worker processes that know the package from an archive alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs pyspark: ./dev test -e spark")

PACKAGE = Path(__file__).parents[1] / "src" / "pyspark_nats"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
JOB = """
import json
import os
import sys

from pyspark.sql import SparkSession, functions as F

url, stream, target = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
frame = spark.read.format("nats").options(servers=url, stream=stream, minPartitions="4").load()


def where(batches):
    import pyarrow as pa
    import pyspark_nats

    for batch in batches:
        yield pa.RecordBatch.from_pydict(
            {"place": [f"{os.getppid()} {pyspark_nats.__file__}"], "rows": [batch.num_rows]}
        )


found = frame.mapInArrow(where, "place string, rows bigint").groupBy("place").sum().collect()
frame.select("data").write.format("nats").mode("append").options(
    servers=url, subject=target + ".x"
).save()
print(json.dumps({row[0]: row[1] for row in found}))
"""


EXECUTOR = """
import json
import sys

import pyspark_nats
from pyspark_nats.connection import Address, Connection, Target
from pyspark_nats.jetstream import JetStream
from pyspark_nats.pull import PullReader, Range, refuse_loss

port, stream = int(sys.argv[1]), sys.argv[2]
target = Target((Address("127.0.0.1", port),))
state = JetStream(Connection(target)).stream(stream)
parts = PullReader(target, "", Range(stream, state.id, 1, state.end), refuse_loss).read()
rows = sum(len(each.sequence) for each in parts)
print(json.dumps([pyspark_nats.__file__, rows, "pyspark" in sys.modules]))
"""


@pytest.mark.once
def test_the_archive_has_all_that_a_worker_needs(store, tmp_path):
    """What reads a range in a worker, from the archive alone, without Spark."""
    stream, archive = store.stream(4000), packed(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", EXECUTOR, str(store.server.port), stream],
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    assert [f"{archive}/pyspark_nats/__init__.py", 4000, False] == json.loads(done.stdout)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.once
def test_two_workers_read_and_write(store, tmp_path):
    stream, target = store.stream(4000), store.stream()
    job = tmp_path / "job.py"
    job.write_text(JOB)
    archive = packed(tmp_path)
    settings = {
        "spark.master": "local-cluster[2,1,512]",
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.pyspark.python": sys.executable,
        "spark.local.dir": str(tmp_path / "local"),
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = Path(sys.executable).with_name("spark-submit")
    # Only what was submitted is to be found: not the package as it is installed here.
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONSAFEPATH": "1",
    }
    command = [str(submit), *words, "--py-files", str(archive), str(job), store.url, stream, target]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert 0 == done.returncode, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert 4000 == sum(found.values())
    assert 2 <= len({place.split()[0] for place in found})
    assert {"pyspark_nats.zip"} == {place.split()[1].split("/")[-3] for place in found}
    assert 4000 == store.ask(f"STREAM.INFO.{target}")["state"]["messages"]


def packed(folder):
    """Return the archive that the documentation says how to make."""
    archive = folder / "pyspark_nats.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in PACKAGE.rglob("*.py"):
            file.write(path, path.relative_to(PACKAGE.parent))
    return archive
