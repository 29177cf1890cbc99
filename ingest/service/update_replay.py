"""
Dead letters that are replayed into tables with deferred updates.

An update row has a time of its own: at a time that was written before, it would replace updates or be covered by a
merged row. So these records are a micro-batch of the pipeline, at a time above all earlier ones, which moves the marks.
The pipeline does not run meanwhile.

Time and records are stored before the first write. A replay that was killed writes the same records at the same time
again, and only then others.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

import orjson

from ingest.api import ConflictError, IntegrityError, Record, RecordPlace
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.durable import StatePath, file_errors, make_folder, write_durably
from ingest.plan.assemble import Plan
from ingest.service.pipeline import checkpoint_folder
from ingest.service.tables import owned_tables
from ingest.spark.state import state_of
from ingest.spark.streaming.batch_time import MIN_GAP_MS, newest_time
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.updates.marks import TableMark
from sinks.writing.driver_store import DriverStore

Write = Callable[[int], None]
"""Writes the records at a batch time, until they are durable."""


class UpdateReplay:
    """
    Writes records into the tables with deferred updates of one pipeline.

    Locks the checkpoint of the pipeline until `opened` closes.

    Args:
        stores: the driver's, by name.
        opened: releases the checkpoint.
        clock: ms since the epoch.

    Raises:
        ConflictError: the pipeline runs, or its last micro-batch is not complete; another pipeline owns a table.
    """

    def __init__(
        self,
        configuration: Configuration,
        pipeline: Pipeline,
        plan: Plan,
        stores: Mapping[str, DriverStore],
        opened: ExitStack,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._fingerprint = pipeline.fingerprint
        self._clock = clock
        self._path: StatePath = state_of(configuration) / "replays" / pipeline.name / "updates"
        checkpoint = Checkpoint(checkpoint_folder(configuration, pipeline.name))
        checkpoint.lock()
        opened.callback(checkpoint.unlock)
        self._times = checkpoint.folder / "times"
        self._tables = owned_tables(configuration, plan, stores)
        self._tables.claim()
        self._mark = self._complete_mark(checkpoint, pipeline.name)

    def _complete_mark(self, checkpoint: Checkpoint, pipeline: str) -> TableMark:
        """The mark, which a new micro-batch may be put above."""
        mark, uncommitted = self._tables.mark(), checkpoint.uncommitted()
        newest = newest_time(self._times) or 0
        if mark is None or (uncommitted is not None and newest > mark.time_ms):
            raise ConflictError(
                f'the last micro-batch of pipeline "{pipeline}" is not complete, so its updates cannot be followed by '
                "others",
                code="batch_incomplete",
                hint="run the pipeline until the batch is durable, stop it, and replay then",
            )
        return mark

    def run(self, records: Sequence[Record], sinks: Mapping[RecordPlace, frozenset[str]], write: Write) -> None:
        """
        Write records as a micro-batch at a new time, and move the marks to it.

        Args:
            records: of one batch of dead letters.
            sinks: place of a record -> names of its sinks.
            write: writes them; called once.

        Raises:
            ConflictError: a replay of other records, or with another configuration, was interrupted.
            IngestError: as `write`.
        """
        wanted = [[*record.place, sorted(sinks.get(record.place, ()))] for record in records]
        time_ms = self._interrupted(wanted)
        if time_ms is None:
            time_ms = max(self._clock(), self._mark.time_ms + MIN_GAP_MS, (newest_time(self._times) or 0) + MIN_GAP_MS)
            content = {"time": time_ms, "records": wanted, "configuration": self._fingerprint}
            with file_errors(self._path):
                make_folder(self._path.parent)
                write_durably(self._path, orjson.dumps(content))
        write(time_ms)
        self._mark = TableMark(time_ms, self._mark.offsets)
        self._tables.move(self._mark)

    def finish(self) -> None:
        """End the micro-batch: the outcome of its dead letters is durable."""
        with file_errors(self._path):
            self._path.unlink(missing_ok=True)

    def _interrupted(self, wanted: list[list[object]]) -> int | None:
        """The time of the same records in an interrupted replay; None if none was interrupted."""
        with file_errors(self._path):
            try:
                content = orjson.loads(self._path.read_bytes())
            except FileNotFoundError:
                return None
            except ValueError as error:
                raise IntegrityError(f'the list of replayed records "{self._path}" cannot be read') from error
        if content["records"] != wanted or content["configuration"] != self._fingerprint:
            what = "of other records" if content["records"] != wanted else "with another configuration"
            raise ConflictError(
                f"a replay {what} into tables with deferred updates was interrupted, and some may be written",
                code="other_replay",
                hint="run that command again, with the configuration that it had",
            )
        time_ms: int = content["time"]
        return time_ms
