"""
A service whose tables have all that jobs work on, written beside a ledger, and jobs that a failpoint kills with it.

Three pipelines read the topic of the ledger: that of the ledger into a plain table; `counted` into a table with
deferred updates and one with a feed; `archived` into an archive and a plain table. So each event of the ledger has its
row, its count, its change and its line in the archive once, whatever was killed.
"""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any

from ingest.api import Store
from sinks.archive.layout import PartitionRule
from sinks.archive.partition import Partition, partitions
from sinks.archive.rewrites import STALE_MS, announce, announcements
from sinks.files.opening import open_root
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.archives import rows_in
from tests.support.killed_at import Failpoint
from tests.support.ledger.run import LedgerRun, merged
from tests.support.names import unique

COUNTED, ARCHIVED = "counted", "archived"
COMPACT, ROLLBACK, REPLAY, REPLAY_LETTERS = "compact", "rollback", "replay", "dead-letters replay"
RESET, DUMP, BOOTSTRAP = "offsets reset", "dump run", "dump bootstrap"
RERUN, JOIN, CLEANUP = "archive rerun", "archive join", "admin archive cleanup"
LIMIT_S = 900.0
_EVENTS = 1_500
_RATE = 10.0
_PER_BATCH = {COUNTED: 500, ARCHIVED: 2_000}
"""Maximum number of events of a micro-batch: several for a compaction, few for a re-run of the archive."""
_TRIGGER = {"every": "2s"}
"""Three pipelines without a pause keep two cores busy, so that each start and job takes several times as long."""
_SERVICE_ENDED = 3
"""Exit code of a command whose service was killed."""
_REFUSED = "%{pn} ends_with '13'"
"""Events that fail as long as the file has this error in it."""

Step = tuple[str, int]
"""A failpoint, and the number of its call that kills."""


class JobsRun:
    """
    The run of a ledger, with tables for jobs.

    Args:
        run: has its service, which does not run yet.

    Attributes:
        counts: table with deferred updates, a row for each class of events.
        orders: table with a feed, a row for each event.
        seen: a plain table beside the archive, as `orders`.
        documents: table with a blob store.
    """

    def __init__(self, run: LedgerRun) -> None:
        self.run = run
        self.service = run.service
        self.counts, self.orders, self.seen, self.documents = (
            unique(name) for name in ("counts", "orders", "seen", "documents")
        )
        self.folder = run.service.folder
        self._groups = {name: unique(name) for name in (COUNTED, ARCHIVED)}
        self._archive = self.folder / "archive"
        self._opened = ExitStack()
        self.write()
        if run.hbase is not None:
            run.make_table()

    def write(self, *, refuses: bool = False, label: str = "old") -> None:
        """
        Write the pipeline file.

        Args:
            refuses: a hundredth of the events fails in `counted` and `archived`.
            label: is in the rows that are archived.
        """
        refusing: dict[str, Any] = {
            "value": {"attribute": "x", "value": "%{'no such'}", "on_missing": "error", "when": _REFUSED}
        }
        decorators = [refusing] if refuses else []

        def pipeline(name: str, *sinks: dict[str, Any]) -> dict[str, Any]:
            (source,) = self.run.content()["pipelines"][self.run.pipeline]["source"].values()
            kafka = source | {"group": self._groups[name], "max_events_per_batch": _PER_BATCH[name]}
            return {"source": {"kafka": kafka}, "trigger": _TRIGGER, "decorators": decorators, "sinks": [*sinks]}

        def sink(table: str, row_key: str, value: str) -> dict[str, Any]:
            cell = {"family": "d", "qualifier": "v", "value": value}
            return {"hbase": {"table": table, "row_key": {"template": row_key}, "cells": [cell]}}

        columns = {"pn": "%{pn}", "label": label}
        archive = {"root": str(self._archive), "table": "events", "late": "36500d", "columns": columns}
        tables = {
            self.counts: {"families": {"d": {}}, "updates": {"processor": "sum"}},
            self.orders: {"families": {"d": {}}, "feed": {"shards": 2, "expiration": "24h"}},
            self.seen: {"families": {"d": {}}},
            self.documents: {"families": {"d": {}}, "blobs": {"block_size": "10KB", "sweep_after": "1m"}},
        }
        pipelines = {
            self.run.pipeline: {"trigger": _TRIGGER},
            COUNTED: pipeline(COUNTED, sink(self.counts, "%{class}", "1"), sink(self.orders, "%{pn}", "%{pn}")),
            ARCHIVED: pipeline(ARCHIVED, {"archive": archive}, sink(self.seen, "%{pn}", "%{pn}")),
        }
        in_store = {name: {"store": "store", **table} for name, table in tables.items()}
        self.service.write(merged(self._content(), {"tables": in_store, "pipelines": pipelines}))

    def produce(self) -> None:
        """Produce some events, and more from now on until `finish`."""
        self.run.produce(_EVENTS)
        self._opened.enter_context(self.run.produce_in_background(_RATE))

    def start(self, failpoint: Failpoint | None = None, *, waits_for: Iterable[str] = (COUNTED, ARCHIVED)) -> None:
        """Start the service, and wait until its pipelines have acknowledged the events that are there now."""
        self.run.start(env=None if failpoint is None else failpoint.environment)
        self._wait_for_events(self.run.pipeline, *waits_for)

    @contextmanager
    def store(self) -> Iterator[Store[Any]]:
        """The store, open for writing; RocksDB only while the service does not run."""
        ((kind, options),) = self._content()["stores"]["store"].items()
        found: Store[Any]
        if kind == "rocksdb":
            found = RocksDBStore(RocksDBSettings.model_validate(options))
        else:
            found = HBaseStore.of(HBaseSettings.model_validate(options))
        with closing(found):
            found.open()
            yield found

    def stop(self) -> None:
        """Stop the service."""
        assert self.service.stop() == 0, self.service.last_lines()

    def killed(
        self,
        step: Step,
        command: str,
        *arguments: str,
        first: Sequence[str] = (),
        is_checked: bool = True,
        waits_for: Iterable[str] = (COUNTED, ARCHIVED),
    ) -> None:
        """
        Start the service, which a step of this job kills.

        Args:
            step: of the job.
            command: of the job.
            arguments: of the command, after the file.
            first: another command, with its arguments, which the service carries out before.
            is_checked: whether the ledger is checked while the service is dead.
            waits_for: pipelines that start.
        """
        name, hit = step
        failpoint = Failpoint(self.run, name, hit=hit)
        self.start(failpoint, waits_for=waits_for)
        if first:
            self.done(*first)
        done = self._ingest(command, *arguments)
        assert done.returncode == _SERVICE_ENDED, (step, done.stdout, done.stderr, self.service.last_lines())
        failpoint.wait_killed()
        if is_checked:
            self.run.check_while_dead()

    def command_killed(self, step: Step, command: str, *arguments: str) -> None:
        """A command that a step kills, beside the service, which runs on."""
        name, hit = step
        failpoint = Failpoint(self.run, name, hit=hit)
        done = self._ingest(command, *arguments, env=dict(failpoint.environment))
        assert done.returncode == -signal.SIGKILL, (step, done.stdout, done.stderr)
        assert failpoint.file.exists()
        assert self.service.is_running, self.service.last_lines()
        self.run.proven(f"SIGKILL {name}#{hit} of a command")

    def done(self, command: str, *arguments: str, code: int = 0) -> dict[str, Any]:
        """The result of a job of the running service, as JSON."""
        done = self._ingest(command, *arguments, "--output", "json")
        assert done.returncode == code, (done.stdout, done.stderr, self.service.last_lines())
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def finish(self, *, metrics: bool = True) -> None:
        """Each event is in the tables of all pipelines and in the archive, once; stops the service."""
        self._opened.close()
        self._wait_for_events(self.run.pipeline, COUNTED, ARCHIVED)
        headers = [dict(record.headers) for record in self.run.kafka.records(self.run.topic)]
        by_class = Counter(each["class"].decode() for each in headers)
        numbers = sorted(each["pn"].decode() for each in headers)
        assert self.scanned(self.counts) == {row: str(count) for row, count in by_class.items()}
        assert sorted(self.scanned(self.orders).values()) == numbers
        assert sorted(self.scanned(self.seen).values()) == numbers
        assert sorted(row["pn"] for row in self.archived()) == numbers
        self.run.finish(metrics=metrics)

    def scanned(self, table: str) -> dict[str, str]:
        """Row -> the value of its only cell."""
        done = self.service.command("scan", table, "--output", "json")
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return {row["row"]: row["cells"][0][-1] for row in rows}

    def partitions(self) -> dict[str, Partition]:
        """The partitions of the archive, by value."""
        return dict(partitions(open_root(str(self._archive / "events")), PartitionRule()))

    def end_rewrites(self) -> None:
        """Let the announcements of killed re-runs and joins have no effect any more, as ten minutes after the kill."""
        root, now_ms = open_root(str(self._archive / "events")), time.time_ns() // 1_000_000
        for left in list(announcements(root, now_ms)):
            announce(root, replace(left, heartbeat_ms=now_ms - STALE_MS - 1))

    def archived(self) -> list[dict[str, Any]]:
        """The rows of the archive that readers see."""
        current = [(each, each.current()) for each in self.partitions().values()]
        return [row for each, number in current if number is not None for row in rows_in(each.root, each, number)]

    def close(self) -> None:
        """End the production of events."""
        self._opened.close()

    def _content(self) -> dict[str, Any]:
        """The pipeline file of the ledger; a store with Thrift also has Thrift2, which deferred updates need."""
        content = self.run.content()
        if self.run.hbase is None:
            return content
        # a job takes the lease of a killed one over after this time
        options = self.run.hbase.store_options(self.run.options.protocol, thrift2=True) | {"timeout": "60s"}
        return merged(content, {"stores": {"store": {"hbase": options}}})

    def _wait_for_events(self, *names: str) -> None:
        ends = self.run.kafka.ends(self.run.topic)
        for name in names:
            self.service.wait_for_offsets(ends, name, self.run.topic)

    def _ingest(
        self, command: str, *arguments: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.service.ingest(command, *arguments, timeout_s=LIMIT_S, env=env)
