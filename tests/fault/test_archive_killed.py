"""Re-runs of an archive beside the pipeline, killed at every step: readers see each record once, before and after."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pyarrow.parquet as pq
import pytest

from tests.support.archived_topic import PIPELINE, TABLE, ArchivedTopic, rerun
from tests.support.servers import Kafka
from tests.support.service import Service, environment
from tests.support.waiting import reached

EVENTS = 2_000_000
DAYS = 10
RERUN_S = 900.0


class Readers(threading.Thread):
    """Reads two partitions as a query does, until the block ends; keeps what is wrong with what it found."""

    def __init__(self, archived: ArchivedTopic) -> None:
        super().__init__(name="readers")
        self._archived = archived
        self._ending = threading.Event()
        self.reads = 0
        self.problems: list[str] = []

    def run(self) -> None:
        most = [0, 0]
        while not self._ending.wait(0.5) and not self.problems:
            for day in (0, 1):
                before = most[day]
                try:
                    rows = self._rows(day)
                except FileNotFoundError:
                    continue  # a micro-batch that runs again after a kill replaces its files
                if len(set(rows)) < len(rows):
                    self.problems.append(f"day {day}: {len(rows) - len(set(rows))} rows are there twice")
                if len(rows) < before:
                    self.problems.append(f"day {day}: {len(rows)} rows after {before}")
                most[day] = len(rows)
                self.reads += 1

    def _rows(self, day: int) -> list[int]:
        partition = self._archived.partition(day)
        current = partition.current()
        if current is None:
            return []
        found: list[int] = []
        for name in partition.parts(current):
            with partition.root.open(partition.path(current, str(name))) as file:
                places = pq.read_table(file, columns=["_partition", "_offset"])
            numbers = zip(places["_partition"].to_pylist(), places["_offset"].to_pylist(), strict=True)
            found += [offset * 2 + number for number, offset in numbers]
        return found

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ending.set()
        self.join()


def killed_at(service: Service, archived: ArchivedTopic, point: str) -> None:
    """A re-run of the first day is killed at a failpoint."""
    folder = service.folder / point
    folder.mkdir()
    env = {"INGEST_FAILPOINT": f"{point}:1:kill", "INGEST_FAILPOINT_FOLDER": str(folder)}
    options = ("--dt", archived.value(0), "--own-process")
    done = service.ingest("archive rerun", TABLE, *options, timeout_s=RERUN_S, env=env)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (folder / point).exists()


def killed_while_it_writes(service: Service, archived: ArchivedTopic) -> None:
    """A re-run of the first day is killed when its version has its first file."""
    partition = archived.partition(0)
    before = set(partition.version_ids())
    words = ["archive", "rerun", "-f", str(service.file), TABLE, "--dt", archived.value(0), "--own-process"]
    command = [sys.executable, "-m", "ingest", *words]
    with subprocess.Popen(command, cwd=service.folder, env=environment(), stderr=subprocess.DEVNULL) as child:
        try:

            def writes() -> bool:
                assert child.poll() is None
                started = set(partition.version_ids()) - before
                return any(partition.parts(version_id) for version_id in started)

            assert reached(writes, RERUN_S)
        finally:
            child.kill()


@pytest.mark.slow
@pytest.mark.parametrize("events", [EVENTS])
def test_each_record_is_read_once_before_and_after_each_switch(kafka: Kafka, tmp_path: Path, events: int) -> None:
    archived = ArchivedTopic(kafka, tmp_path, days=DAYS)
    archived.produce(events // 4)
    feeder = threading.Thread(target=archived.produce, args=(events - events // 4,))
    with Service(tmp_path, archived.content("old")).start() as service, Readers(archived) as readers:
        service.wait_for_offsets(archived.ends(), PIPELINE, archived.topic)
        feeder.start()
        service.write(archived.content("new"))
        first = archived.partition(0).current()
        steps: list[tuple[Callable[[], object], bool]] = [
            (lambda: killed_while_it_writes(service, archived), False),
            (lambda: killed_at(service, archived, "archive_superseded"), False),
            (lambda: killed_at(service, archived, "archive_switched"), True),
        ]
        for step, is_switched in steps:
            step()
            assert (archived.partition(0).current() != first) == is_switched
            assert not readers.problems
        service.kill_all()
        service.write(archived.content("old"))
        service.start()
        service.wait_for_state("running", PIPELINE)
        service.write(archived.content("new"))
        for day in (0, 1):
            done = rerun(service, archived.value(day), "--own-process")
            assert archived.partition(day).current() == done["version"]
            assert archived.labels(day)["new"] >= done["rows"] > 0
        feeder.join()
        service.wait_for_offsets(archived.ends(), PIPELINE, archived.topic)
        assert service.stop() == 0, service.last_lines()
    assert (readers.problems, readers.reads > 10) == ([], True)
    archived.assert_complete()
    joined = rerun(service, archived.value(0), command="archive join")
    assert joined["files_read"] == 1 or joined["rows"] == len(archived.numbers(0))
    archived.assert_complete()
