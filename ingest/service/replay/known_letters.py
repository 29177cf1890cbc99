"""What the tables with deferred updates of a pipeline know of its dead letters, while a replay of these runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from ingest.api import ConflictError, RecordPlace
from ingest.dead_letters.replay_batches import SkipReason
from ingest.formats.times import moment
from sinks.rewriting.counted_letters import CountedLetters
from sinks.rewriting.owned_letters import CountedRecords
from sinks.updates.intervals import Interval, is_in


class BatchNotLoggedError(ConflictError):
    """Dead letters into deferred updates are older than the batch log, so they may have been counted already."""

    code = "batch_not_logged"
    remedy = "Leave them out with `--since`; or add `--recount` if their micro-batches did not run again."


class ReadBeforeError(ConflictError):
    """Lines of a file were read before it changed, so tables with deferred updates may have counted them."""

    code = "read_before"
    hint = (
        "if they were counted, mark the dead letter with 'attr2hbase dead-letters keep'; if the lines are new, "
        "replay it with `--recount`"
    )


class KnownLetters:
    """
    The records of dead letters of the tables, with what the replay has counted since they were read.

    Args:
        sinks: sink into deferred updates -> its table.
        rolled_back: table -> the batch times that were rolled back from it and not replayed since.
        read: returns for each table what it knows, as it is now.
        has_log: whether the source of the pipeline has a batch log.
        recount: whether dead letters are counted of which it is unknown whether they were counted before.
    """

    def __init__(
        self,
        *,
        sinks: Mapping[str, str] = MappingProxyType({}),
        rolled_back: Mapping[str, Sequence[Interval]] = MappingProxyType({}),
        read: Callable[[], Mapping[str, CountedLetters]] = dict,
        has_log: bool = True,
        recount: bool = False,
    ) -> None:
        self.sinks = sinks
        self._rolled_back = rolled_back
        self._read = read
        self._has_log = has_log
        self._recount = recount
        self._letters: dict[str, CountedLetters] = {}
        self.refresh()

    def refresh(self) -> None:
        """
        Read what the tables know again, after an earlier replay was finished or taken back.

        Raises:
            IntegrityError: a record cannot be read.
            StoreError: a store is unavailable.
        """
        self._letters = dict(self._read())

    def add(self, time_ms: int, counted: Iterable[CountedRecords]) -> None:
        """Add records that the replay has counted, as the tables know them already."""
        for table, sink, source_ms, ranges in counted:
            self._letters[table] = self._of(table).with_run(time_ms, source_ms, sink, ranges)

    def times_of(self, sink: str, place: RecordPlace, source_ms: int) -> list[int]:
        """
        The times of the updates in which a sink has counted a record, as `CountedLetters.times_of`.

        Path and offset identify a line of a file, whatever the micro-batch that found it.
        """
        at_ms = source_ms if self._has_log else None
        return self._of(self.sinks[sink]).times_of(place, at_ms, sink, self.sinks.keys())

    def cuts(self, place: RecordPlace, end: int) -> set[int]:
        """As `CountedLetters.cuts`, of all tables."""
        return {at for letters in self._letters.values() for at in letters.cuts(place, end)}

    def is_rolled_back(self, table: str, time_ms: int) -> bool:
        """Whether a batch time was rolled back from a table and not replayed since."""
        return is_in(self._rolled_back.get(table, ()), time_ms)

    def did_run_again(self, table: str, batch_time_ms: int) -> bool:
        """As `CountedLetters.did_run_again`."""
        return self._of(table).did_run_again(batch_time_ms)

    def refuse_read_before(self, table: str, place: RecordPlace) -> None:
        """
        Refuse a dead letter whose records, or others at their offsets, were read in an earlier micro-batch.

        Raises:
            ConflictError: unless they are to be counted in any case.
        """
        if not self._recount:
            topic, partition, offset = place
            raise ReadBeforeError(
                f"lines of {topic}/{partition} from {offset} on were read before the file changed, so it is unknown "
                f'whether table "{table}" has counted them',
            )

    def skip_reason(self, table: str, batch_time_ms: int) -> SkipReason | None:
        """
        Why the dead letters of a micro-batch that is in no batch log must not be counted; None if they may be.

        Raises:
            ConflictError: it is unknown whether they were counted, or whether their records ran again.
        """
        known = self._of(table)
        if known.did_run_again(batch_time_ms):
            return SkipReason.RAN_AGAIN
        is_unknown = known.is_unknown(batch_time_ms)
        if self._recount or not (self._has_log or is_unknown):
            return None
        hint = "leave them out with --since"
        if not is_unknown:
            hint += (
                "; or add --recount: the table has no record that they were counted or that the micro-batch ran again"
            )
        where = "the batch log" if self._has_log else "the table record"
        raise BatchNotLoggedError(
            f"{where} no longer has the micro-batch of {moment(batch_time_ms)}, so it is unknown whether its dead "
            f'letters were counted in table "{table}" by a later run',
            hint=hint,
        )

    def _of(self, table: str) -> CountedLetters:
        return self._letters.get(table, CountedLetters())
