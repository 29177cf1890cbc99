"""The counters of each process of a service, read repeatedly because it may be killed at any time."""

import threading

from tests.support.ledger.invariants import Scrape, found_dead
from tests.support.service import Service

EVERY_S = 0.5


class Scrapes:
    """Reads /metrics in a thread, from the start of the first process to `close`."""

    def __init__(self, service: Service, pipeline: str) -> None:
        self._service = service
        self._pipeline = pipeline
        self._lives: dict[int, Scrape] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self) -> None:
        """Start the thread, if it does not run."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="scrapes", daemon=True)
            self._thread.start()

    def last(self) -> Scrape:
        """The counters of the running process, now."""
        scrape = self._scrape()
        assert scrape is not None, "no response from /metrics"
        self._lives[self._service.pid] = scrape
        return scrape

    def died(self, rows: int) -> None:
        """Record the number of rows that the last process stored but did not acknowledge."""
        pid = self._service.pid
        self._lives[pid] = found_dead(self._lives.get(pid, Scrape()), rows)

    def close(self) -> list[Scrape]:
        """Stop the thread; returns the last counters of each process."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        return list(self._lives.values())

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            pid = self._service.pid
            scrape = self._scrape()
            if scrape is not None and pid == self._service.pid:
                self._lives[pid] = scrape

    def _scrape(self) -> Scrape | None:
        metrics = self._service.metrics()
        found: dict[str, int] = {}
        for (name, labels), value in metrics.items():
            if ("pipeline", self._pipeline) in labels:
                found[name] = found.get(name, 0) + int(value)
        if not found:
            return None
        return Scrape(
            read=found.get("attr2hbase_events_read_total", 0),
            stored=found.get("attr2hbase_events_stored_total", 0),
            dropped=found.get("attr2hbase_events_dropped_total", 0),
            dead_lettered=found.get("attr2hbase_events_dead_lettered_total", 0),
            rows_sent=found.get("attr2hbase_rows_sent_total", 0),
            attempts=found.get("attr2hbase_batch_attempts_total", 0),
            batches=found.get("attr2hbase_batch_seconds_count", 0),
            retries=found.get("attr2hbase_retries_total", 0),
        )
