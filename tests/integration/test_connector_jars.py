"""The jars of jars.toml are sufficient for Spark to read Kafka with every compression codec."""

import os
import subprocess
import sys

import pytest

from ingest.spark.jars import fetch
from tests.support.servers import Kafka

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

# in another process, because the jars of a Spark session are fixed once per process
_SPARK = """
import sys
from pyspark.sql import SparkSession

brokers, topic, folder, jars, *codecs = sys.argv[1:]
options = {"kafka.bootstrap.servers": brokers}
local = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
builder = SparkSession.builder.master("local[1]").config("spark.jars", jars).config(map=local)
session = builder.getOrCreate()
for codec in codecs:
    frame = session.createDataFrame([(codec,)] * 20, "value string")
    frame.write.format("kafka").options(**options, topic=topic, **{"kafka.compression.type": codec}).save()
options |= {"subscribe": topic, "startingOffsets": "earliest", "kafka.isolation.level": "read_committed"}
stream = session.readStream.format("kafka").options(**options, includeHeaders="true", maxOffsetsPerTrigger=30).load()
started = (
    stream.selectExpr("CAST(value AS STRING)").writeStream.format("json").option("checkpointLocation", folder + "/c")
)
started.trigger(availableNow=True).start(folder + "/out").awaitTermination()
for row in session.read.json(folder + "/out").groupBy("value").count().collect():
    print("found", row["value"], row["count"])
"""


@pytest.mark.slow
def test_spark_writes_and_reads_every_codec(kafka: Kafka, tmp_path) -> None:
    topic = kafka.create_topic("codecs")
    jars = ",".join(str(jar) for jar in fetch())
    done = subprocess.run(
        [sys.executable, "-c", _SPARK, kafka.brokers, topic, str(tmp_path), jars, *CODECS],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_DIST_CLASSPATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = {line for line in done.stdout.splitlines() if line.startswith("found ")}
    assert found == {f"found {codec} 20" for codec in CODECS}, done.stderr[-4000:]
