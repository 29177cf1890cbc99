"""The row keys that pipelines write, by table."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ingest.api.notation import from_notation
from ingest.config.test_cases import Given
from ingest.dry_run.pipeline import DryRun

Table = tuple[str, str]
"""Store and table."""


class RowKeySample:
    """
    Row keys of writes, by table.

    Attributes:
        outcomes: outcome of an event, as `explain` shows it -> number of events.
        errors: decorator or sink, and error code -> number of events that failed so.
    """

    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        self.errors = Counter[tuple[str, str]]()
        self._keys: dict[Table, list[tuple[int, bytes]]] = {}

    def add(self, dry_run: DryRun, given: Iterable[Given], on_event: Callable[[int], None] = lambda _: None) -> None:
        """
        Run events through a pipeline, and keep the row key of each put and delete.

        Args:
            dry_run: of the pipeline.
            given: its events, oldest first, or in the order of each partition if they are records with timestamps.
            on_event: called with the number of events so far.

        Raises:
            BadInputError: an input is not an event.
            IngestError: a decorator is unavailable.
        """
        times_ms: list[int] = []

        def timed() -> Iterator[Given]:
            for each in given:
                times_ms.append(0 if each.record is None else each.record.timestamp_ms)
                yield each

        for number, output in enumerate(dry_run.run(timed()), start=1):
            line: Mapping[str, Any] = output.line
            self.outcomes[line["outcome"]] += 1
            if (error := line["error"]) is not None:
                self.errors[error["decorator"] or "source", error["code"]] += 1
            for put in line["puts"]:
                key = from_notation(put.get("key", put["row"]))  # `row` is the physical key
                self._keys.setdefault((put["store"], put["table"]), []).append((times_ms[line["input"]], key))
            on_event(number)

    def by_table(self) -> dict[Table, Sequence[bytes]]:
        """Row keys of each table in the order of the records' timestamps, for equal ones in that of the input."""
        return {
            table: [key for _, key in sorted(keys, key=lambda timed: timed[0])]
            for table, keys in sorted(self._keys.items())
        }
