"""`python -m tests.support.ledger produce | chain | audit | report | age`: the ledger without a test."""

import argparse
import json
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import happybase

from tests.support.checkpoint import CheckpointReader
from tests.support.ledger import age, report
from tests.support.ledger.books import Books
from tests.support.ledger.events import FAMILIES, Events, chain
from tests.support.ledger.observed import Observed, batches_of, dead_letters_in_files, hbase_rows, rocksdb_rows
from tests.support.ledger.producer import LedgerFile, Producer
from tests.support.ledger.sent import settled


class AnyHBase:
    """An HBase at an address."""

    def __init__(self, address: str) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)

    @contextmanager
    def connection(self) -> Any:
        """A happybase connection."""
        connection = happybase.Connection(self._host, self._port, timeout=60_000)
        try:
            yield connection
        finally:
            connection.close()


def produce(options: argparse.Namespace) -> None:
    """Send more events, after those in the file."""
    file = LedgerFile(options.file)
    events = Events(options.run, options.seed)
    producer = Producer(options.brokers, options.topic, events, file, partitions=options.partitions)
    producer.sent = 1 + max((entry.number for entry in file.entries()), default=-1)
    try:
        producer.produce(options.count, rate=options.rate)
    finally:
        producer.close()


def show_chain(_: argparse.Namespace) -> None:
    """Print the families and decorators of a pipeline for the events."""
    content = {"families": [name.decode() for name in FAMILIES], "decorators": chain()}
    print(json.dumps(content, indent=1))  # noqa: T201 - what the command is for


def audit(options: argparse.Namespace) -> None:
    """Audit a pipeline whose service is down."""
    checkpoint = CheckpointReader(options.state / "checkpoints" / options.pipeline)
    observed = Observed(
        dead_letters=dead_letters_in_files(options.state, options.pipeline),
        acknowledged=checkpoint.acknowledged(options.topic),
        batches=batches_of(checkpoint, options.topic),
    )
    if options.hbase:
        observed.rows = hbase_rows(AnyHBase(options.hbase), options.table)
    else:
        observed.rows, observed.older = rocksdb_rows(options.rocksdb, options.table)
    sent = settled(LedgerFile(options.file).entries())
    books = Books(Events(options.run, options.seed), sent, observed, frozenset(), {})
    judgement, wrong = books.while_dead()
    for line in (books.totals(judgement), *wrong):
        print(line)  # noqa: T201 - what the command is for
    if wrong:
        raise SystemExit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the commands."""
    of_a_run = argparse.ArgumentParser(add_help=False)
    of_a_run.add_argument("file", type=Path, help="ledger file")
    of_a_run.add_argument("topic")
    of_a_run.add_argument("--run", default="by-hand", help="name of the run; it determines the row keys")
    of_a_run.add_argument("--seed", type=int, default=1)
    parser = argparse.ArgumentParser(prog="python -m tests.support.ledger", description=__doc__)
    commands = parser.add_subparsers(required=True)
    sends = commands.add_parser("produce", parents=[of_a_run], help="send events and record them in the file")
    sends.add_argument("--brokers", default="localhost:9092")
    sends.add_argument("--count", type=int, default=20_000)
    sends.add_argument("--partitions", type=int, default=4, help="of the topic")
    sends.add_argument("--rate", type=float, help="events a second; default: no limit")
    sends.set_defaults(do=produce)
    shows = commands.add_parser("chain", help="print the decorators and families of a pipeline for the events")
    shows.set_defaults(do=show_chain)
    looks = commands.add_parser("audit", parents=[of_a_run], help="audit a pipeline whose service is down")
    looks.add_argument("--state", type=Path, required=True, help="the pipeline's state_dir")
    looks.add_argument("--pipeline", required=True)
    looks.add_argument("--table", required=True)
    store = looks.add_mutually_exclusive_group(required=True)
    store.add_argument("--rocksdb", type=Path, help="folder of the store")
    store.add_argument("--hbase", help="HOST:PORT of the Thrift server")
    looks.set_defaults(do=audit)
    writes = commands.add_parser("report", help="write the tables of docs/reliability.md from the last results")
    writes.set_defaults(do=lambda _: report.render())
    is_recent = commands.add_parser("age", help="refuse a page with results that are too old for a release")
    is_recent.set_defaults(do=lambda _: print(age.require_recent()))  # noqa: T201 - what the command is for
    options = parser.parse_args(arguments)
    options.do(options)


if __name__ == "__main__":
    main()
