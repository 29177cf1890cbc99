"""A service under a fault, with the ledger of all its events."""

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.ledger import report
from tests.support.ledger.books import Books, Totals
from tests.support.ledger.events import Events, Outcome
from tests.support.ledger.invariants import Rule, Scrape, Wrong
from tests.support.ledger.judging import newest_numbers
from tests.support.ledger.observed import (
    Key,
    Observed,
    batches_of,
    dead_letters_in_files,
    dead_letters_in_topic,
    hbase_rows,
    hbase_versions,
    places_in_topic,
    rocksdb_rows,
)
from tests.support.ledger.pipeline import Names, Options, content_of, merged
from tests.support.ledger.producer import LedgerFile, Places, Producer, Status
from tests.support.ledger.scrapes import Scrapes
from tests.support.ledger.sent import SentEvents, settled
from tests.support.ledger.verdicts import Judgement, Verdict
from tests.support.names import unique
from tests.support.servers import HBase, Kafka
from tests.support.service import START_S, Service

__all__ = ["LedgerError", "LedgerRun", "Options", "Totals", "merged"]


class LedgerError(AssertionError):
    """
    Rules are broken; the message contains them and the seed.

    Attributes:
        rules: the broken rules.
    """

    def __init__(self, message: str, wrong: Sequence[Wrong]) -> None:
        super().__init__(message)
        self.rules = {each.rule for each in wrong}


class LedgerRun:
    """
    One topic, one pipeline, one service, and the ledger.

    Args:
        fault: its name in the report.
        hbase: None for RocksDB.

    Attributes:
        pipeline: its name.
        producer: its brokers and partitions may be changed.
        allowed_codes: error codes of dead letters that are allowed in place of stored events.
    """

    def __init__(
        self, fault: str, folder: Path, kafka: Kafka, hbase: HBase | None, *, seed: int, options: Options
    ) -> None:
        self.fault = fault
        self.seed = seed
        self.kafka = kafka
        self.hbase = hbase
        self.options = options
        self.pipeline = "ledger"
        self.topic = kafka.create_topic(
            "ledger", partitions=options.partitions, config=dict(options.topic_config or {})
        )
        self.group = unique("ledger")
        self.table = unique("ledger")
        self.dead_kafka = options.dead_kafka or kafka
        self.dead_topic = self.dead_kafka.create_topic("ledger_dead") if options.dead_letters == "kafka" else None
        self.events = Events(run=self.table, seed=seed, **options.events)
        self.file = LedgerFile(folder / "ledger.tsv")
        self._home = folder / "service"
        self.producer = Producer(kafka.brokers, self.topic, self.events, self.file, partitions=options.partitions)
        self.service = Service(self._home, self.content())
        self.allowed_codes: set[str] = set()
        self._proofs: list[str] = []
        self._seen: dict[bytes, int] = {}
        self._scrapes = Scrapes(self.service, self.pipeline)
        self._predicted: set[Key] = set()
        self._before_life = -1
        self._started = time.monotonic()
        print(f"SEED={seed} fault={fault} topic={self.topic} table={self.table}")  # noqa: T201 - read when the test fails

    @property
    def store_folder(self) -> Path:
        """Folder of the RocksDB store."""
        return self.service.folder / "store"

    @property
    def state_folder(self) -> Path:
        """Folder of checkpoints and dead letters."""
        return self.service.folder / "data" / "state"

    def content(self) -> dict[str, Any]:
        """The pipeline file as plain data, for `service.write`."""
        names = Names(self.pipeline, self.topic, self.group, self.table, self.dead_topic)
        return content_of(
            self.options, names, store=self._store(), brokers=self.kafka.brokers, dead_brokers=self.dead_kafka.brokers
        )

    def produce(self, count: int, *, rate: float | None = None) -> None:
        """Send more events and wait for the response to each."""
        self.producer.produce(count, rate=rate)

    def produce_in_background(self, rate: float) -> AbstractContextManager[None]:
        """Send events at a rate per second until the block ends."""
        return self.producer.in_background(rate)

    def make_table(self) -> None:
        """Run `attr2hbase table apply`."""
        made = self.service.command("table apply")
        assert made.returncode == 0, made.stderr

    def start(self, *arguments: str, env: Mapping[str, str] | None = None, timeout_s: float = START_S) -> None:
        """Start `attr2hbase run` and wait until the pipeline runs."""
        self.begin(*arguments, env=env)
        running = ("running", "blocked")
        self.service.wait_for(
            lambda: self.service.states().get(self.pipeline) in running, f"{self.pipeline} running", timeout_s
        )

    def begin(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        """Start `attr2hbase run` without waiting, for a start that is expected to fail."""
        self._begin([sys.executable, "-m", "ingest", "run", str(self.service.file), *arguments], env)

    def begin_submitted(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        """Start `attr2hbase submit` without waiting; the pid of the service is that of spark-submit."""
        self._begin([sys.executable, "-m", "ingest", "submit", str(self.service.file), *arguments], env)

    def wait_acknowledged(self, fraction: float = 1.0, timeout_s: float = 300.0) -> None:
        """Wait until this fraction of the produced events is acknowledged in the checkpoint."""
        places = Places(self.file)
        checkpoint = self.service.checkpoint(self.pipeline)
        self.service.wait_for(
            lambda: places.fraction(checkpoint.acknowledged(self.topic)) >= fraction,
            f"{fraction:.0%} of {places.count} events acknowledged",
            timeout_s,
        )

    def kill(self) -> None:
        """SIGKILL to all processes of the service."""
        pid = self.service.pid
        self.service.kill_all()
        self.proven(f"SIGKILL, pid {pid} gone")

    def proven(self, what: str) -> None:
        """Record evidence that the fault happened; a run without any fails."""
        self._proofs.append(what)

    def predict_lost(self, numbers: Collection[int]) -> int:
        """Predict the loss of events, before the audit; returns their number."""
        sent = settled(self.file.entries())
        self._predicted |= {
            (0, number)
            for number in numbers
            if sent.entries[0, number].status is Status.OK and self.events.outcome(0, number) is Outcome.STORED
        }
        return len(self._predicted)

    def check_while_dead(self) -> Judgement:
        """Check that everything acknowledged is stored, while the service is down and cannot repair anything."""
        assert not self.service.is_running, "the service still runs"
        books = self._books()
        judgement, wrong = books.while_dead()
        if self.service.checkpoint(self.pipeline).folder.exists():  # else the acknowledged events are unknown
            stored = judgement.having(Verdict.STORED)
            self._scrapes.died(sum(key not in judgement.acknowledged for key in stored))
        for row, number in newest_numbers(books.observed.rows).items():
            self._seen[row] = max(number, self._seen.get(row, -1))
        if wrong:
            self._fail(wrong, books.totals(judgement))
        return judgement

    def finish(
        self,
        *,
        lost_predicted: int | None = None,
        exit_code: int = 0,
        metrics: bool = True,
        group: bool = True,
        timeout_s: float = 300.0,
        max_redelivered: int | None = None,
    ) -> Totals:
        """
        Wait until all events are acknowledged, stop, audit, and write the result; raise if a rule is broken.

        Args:
            lost_predicted: number of events that must be lost; `predict_lost` names them.
            exit_code: expected exit code.
            metrics: whether /metrics is compared; not possible if the checkpoint was lost or changed.
            group: whether the group's offsets must equal the checkpoint's.
            max_redelivered: limit of rows sent again, if it differs from that of the repeated batches.
        """
        wrong: list[Wrong] = []
        life: Scrape | None = None
        if self.service.is_running:
            self.wait_acknowledged(timeout_s=timeout_s)
            life = self._scrapes.last()
            code = self.service.stop()
            if code != exit_code:
                text = f"ended with {code}, expected {exit_code}\n{self.service.last_lines()}"
                wrong.append(Wrong(Rule.EXIT_CODE, text))
        else:
            wrong.append(Wrong(Rule.EXIT_CODE, f"the service had ended\n{self.service.last_lines()}"))
        if not self._proofs:
            wrong.append(Wrong(Rule.PROVEN, "no proof that the fault happened: call proven()"))
        lives = self._scrapes.close()
        books = self._books()
        predicted = lost_predicted if lost_predicted is not None or not self._predicted else len(self._predicted)
        judgement, found = books.at_the_end(self._predicted, predicted, check_group=group)
        wrong += found
        if metrics and life is not None:
            wrong += books.about_metrics(judgement, life, self._before_life)
        redelivered, found = books.about_redelivery(lives, self.options.batch_size, max_redelivered)
        wrong += found
        totals = books.totals(judgement, redelivered, predicted)
        if wrong:
            self._fail(wrong, totals)
        self._write(totals, ())
        return totals

    def observed(self) -> Observed:
        """The actual state; RocksDB only while the service is down."""
        checkpoint = self.service.checkpoint(self.pipeline)
        dead_letters = dead_letters_in_files(self.state_folder, self.pipeline)
        if self.dead_topic is not None:
            dead_letters = dead_letters_in_topic(self.dead_kafka, self.dead_topic, self.pipeline, dead_letters)
        found = Observed(
            dead_letters=dead_letters,
            acknowledged=checkpoint.acknowledged(self.topic),
            group=self.kafka.committed(self.group, self.topic) if self.kafka.server.is_running else None,
            batches=batches_of(checkpoint, self.topic),
        )
        if self.hbase is None:
            found.rows, found.older = rocksdb_rows(self.store_folder, self.table)
        else:
            found.rows = hbase_rows(self.hbase, self.table)
            found.versions = partial(hbase_versions, self.hbase, self.table)
        return found

    def close(self) -> None:
        """End what still runs."""
        self._scrapes.close()
        self.producer.close()
        self.service.close()

    def _begin(self, command: Sequence[str], env: Mapping[str, str] | None) -> None:
        self._before_life = max(self.service.checkpoint(self.pipeline).commits(), default=-1)
        self.service.start_command(command, env=env)
        self._scrapes.watch()

    def _store(self) -> dict[str, Any]:
        if self.hbase is None:
            return {"rocksdb": {"path": str(self._home / "store"), **self.options.store_options}}
        address = self.hbase.store_options(self.options.protocol, port=self.options.hbase_port)
        return {"hbase": {**address, **self.options.store_options}}

    def _sent(self) -> SentEvents:
        entries = self.file.entries()
        unknown = {(entry.producer, entry.number) for entry in entries if entry.status is Status.INFO}
        if not unknown or not self.kafka.server.is_running:
            return settled(entries)
        return settled(entries, places_in_topic(self.kafka.brokers, self.topic, unknown))

    def _books(self) -> Books:
        return Books(self.events, self._sent(), self.observed(), frozenset(self.allowed_codes), dict(self._seen))

    def _fail(self, wrong: Sequence[Wrong], totals: Totals) -> None:
        broken = [f"{each.rule}: {each.text}" for each in wrong]
        self._write(totals, broken)
        lines = "\n".join(f"- {each}" for each in broken)
        raise LedgerError(f"{self.fault}, SEED={self.seed}: broken rules\n{lines}\n{totals}", wrong)

    def _write(self, totals: Totals, wrong: Sequence[str]) -> None:
        report.write(
            report.Row(
                fault=self.fault,
                store="hbase, no Thrift" if self.options.protocol == "rpc" and self.hbase else self.options.store,
                seed=self.seed,
                proof=tuple(self._proofs),
                seconds=round(time.monotonic() - self._started, 1),
                wrong=tuple(wrong),
                mutant=self.options.mutant,
                **asdict(totals),
            )
        )
