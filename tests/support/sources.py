"""A source of a plugin, and its pipeline file and context."""

from pathlib import Path

from ingest.observe.metrics import Metrics
from ingest.service.sources import DriverContext
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint

FILES = "files: {path: ./nowhere*.log}"
KAFKA = "kafka: {brokers: 'localhost:9092', topics: [t]}"

TICKING = """\
from ingest.api import Example, Source, SourceSettings, option


class TickingSettings(SourceSettings):
    per_second: int = option("Records in each second.", default=5, ge=1)
    rows: int = option("Records in each batch.", default=3, ge=1)

    @property
    def summary(self):
        return f"{self.per_second} a second"

    @property
    def has_headers(self):
        return False


class Ticking(Source[TickingSettings]):
    "Count up, as Spark's source `rate-micro-batch` does."

    kind = "ticking"
    examples = (Example("seven a second", settings="{per_second: 7}"),)

    def __init__(self, settings, context):
        super().__init__(settings, context)
        if settings.per_second == 1:
            raise ValueError("too slow")

    @classmethod
    def check(cls, settings):
        return f"{settings.per_second} a second"

    def identity(self):
        return {"rows": str(self.settings.rows)}

    def frame(self, session):
        rate = session.readStream.format("rate-micro-batch")
        rate = rate.options(rowsPerBatch=str(self.settings.rows), startTimestamp="1000", numPartitions="1")
        return rate.load().selectExpr(
            "'ticks' AS topic",
            "0 AS partition",
            "value AS offset",
            "CAST(NULL AS binary) AS key",
            "CAST(concat('tick ', value) AS binary) AS value",
            "unix_millis(timestamp) AS timestamp_ms",
            "CAST(array() AS array<struct<key: string, value: binary>>) AS headers",
        )
"""
"""The text of a module with the source `ticking`: bodies `tick N`, offsets from 0."""

PIPELINE = """\
version: 1
PLUGINS
stores: {s: {STORE}}
pipelines:
  p:
    source: {SOURCE}
    decorators:
      - value: {attribute: "2hb_f:body", value: "%{body}"}
      - value: {attribute: "2hb_", value: "%{topic}-%{offset}"}
    sinks: [{attr2hbase: {table: t}}]
"""


def pipeline(source: str, *, plugins: str = "", store: str = "memory: {}") -> str:
    """A pipeline file that reads a source; the row key is topic and offset."""
    return PIPELINE.replace("SOURCE", source).replace("PLUGINS", plugins).replace("STORE", store)


def driver_context(folder: Path) -> DriverContext:
    """The context of a source on the driver, with the checkpoint in a folder."""
    checkpoint = Checkpoint(folder)
    times = BatchTimes(folder / "times", lambda: 1)
    return DriverContext("p", "UTC", None, checkpoint, checkpoint=checkpoint, times=times, metrics=Metrics(["p"]))
