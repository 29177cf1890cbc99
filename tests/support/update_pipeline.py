"""A pipeline with a sink into deferred updates, whose first micro-batch is complete."""

import json
from contextlib import ExitStack, closing
from pathlib import Path

from ingest.api import Record, Scan, SourceUnavailableError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.envelope import DeadLetter
from ingest.kafka.settings import KafkaConnection
from ingest.plan.assemble import live_store, plan_of
from ingest.service.replay.dead_letter_replay import DeadLetterReplay
from ingest.service.state_folders import batch_log_folder
from ingest.service.stores import driver_stores
from ingest.service.tables import owned_tables
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from ingest.spark.streaming.batch_time import BatchTimes
from sinks.owning.committed_position import CommittedPosition
from sinks.updates.groups import UpdateRow
from sinks.updates.keys import time_of
from tests.support.checkpoint import acknowledge
from tests.support.place import own_process

CATALOG = Catalog()
BATCH_MS = 1_000


def no_clock(connection: KafkaConnection) -> None:
    """A cluster that does not answer."""
    raise SourceUnavailableError(f"no broker of {connection.brokers} answers")


class Pipeline:
    """A pipeline that counts bodies, and writes the last body of each key; one micro-batch is complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._offsets: dict[bytes, int] = {}
        self.checkpoint = folder / "state" / "checkpoints" / "p"
        configuration = self.load()
        acknowledge(self.checkpoint, 0, {"t": {0: 10}})
        assert BatchTimes(self.checkpoint / "times", lambda: BATCH_MS).of(0) == BATCH_MS
        plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
        with ExitStack() as opened:
            tables = owned_tables(configuration, plan, driver_stores(configuration, [plan], opened))
            tables.claim()
            tables.move(CommittedPosition(BATCH_MS, {"t": {"0": 10}}))
        self.log(BATCH_MS, "counts")

    def log(self, time_ms: int, *tables: str) -> None:
        """Log a micro-batch with the first ten offsets."""
        with closing(BatchLog(batch_log_folder(self.load(), "p"))) as log:
            log.append(LoggedBatch(0, time_ms, {("t", 0): (0, 10)}, {}, tables))

    def load(self, *decorators: object) -> Configuration:
        """The configuration, perhaps with further decorators."""
        content = {
            "version": 1,
            "state_dir": str(self.folder / "state"),
            "service": {"http": {"listen": "127.0.0.1:1"}},  # no service answers there
            "stores": {"s": {"rocksdb": {"path": str(self.folder / "store")}}},
            "tables": {"counts": {"families": {"c": {}}, "updates": {"processor": "sum"}}, "values": None},
            "pipelines": {
                "p": {
                    "source": {"kafka": {"brokers": "localhost:9092", "topics": ["t"]}},
                    "decorators": [
                        *decorators,
                        {"template": {"attributes": {"2hb_": "row", "2hb_c:n": "%{body}"}}},
                    ],
                    "sinks": [
                        {"attr2hbase": {"table": "counts", "label": "counts"}},
                        {"attr2hbase": {"table": "values", "label": "values"}},
                    ],
                }
            },
        }
        (self.folder / "p.yaml").write_text(json.dumps(content))
        return load(self.folder / "p.yaml", env={}, lookup=CATALOG)

    def replay(self, *bodies: bytes, is_marked: bool = True, configuration: Configuration | None = None) -> list[bytes]:
        """Replay records with these bodies; returns the dead letters."""
        configuration = configuration or self.load()
        records = [Record("t", 0, self._offset_of(body), None, body, 5) for body in bodies]
        with DeadLetterReplay(
            own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
        ) as replay:
            _, dead_letters = replay(records, BATCH_MS - 1, {})
            if is_marked:
                replay.marked()
        return dead_letters

    def _offset_of(self, body: bytes) -> int:
        """The offset of the record with this body."""
        return self._offsets.setdefault(body, len(self._offsets))

    def dead_letter(self, component: str, offset: int = 0) -> DeadLetter:
        """A dead letter of a record of the first micro-batch, with the body 2."""
        return DeadLetter(
            record=Record("t", 0, offset, None, b"2", 5),
            fan_out=0,
            attributes={},
            pipeline="p",
            component=component,
            code="no_match",
            message="",
            batch_time_ms=BATCH_MS,
            fingerprint="",
        )

    def updates(self) -> list[tuple[int, bytes]]:
        """Batch time and value of each update row."""
        rows = [UpdateRow.of(row) for row in self._scanned("counts")]
        return [(time_of(row.key.start), row.columns[b"c:n"]) for row in rows]

    def values(self) -> list[tuple[int, bytes]]:
        """Timestamp and value of each cell of the plain table."""
        return [(cell.timestamp_ms, cell.value) for row in self._scanned("values") for cell in row.cells]

    def _scanned(self, table: str):
        configuration = self.load()
        store = live_store(plan_of(configuration, configuration.pipelines["p"], CATALOG).stores["s"])
        store.open()
        try:
            return list(store.scan(table, Scan()))
        finally:
            store.close()
