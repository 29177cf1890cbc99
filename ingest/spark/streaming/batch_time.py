"""The time of a micro-batch: chosen once, before its tasks start, and the same on every replay."""

from collections.abc import Callable, Collection, Iterable

from ingest.api import CheckpointError
from ingest.durable import StatePath, create_durably, file_errors, make_folder, sync_folder, write_durably

MIN_GAP_MS = 2  # deletes of a batch are written at its time - 1 ms
_FLOOR = "floor"
_NAME = ".name"  # suffix of the file with the first time of a batch that was renewed
RETAINED = 1_000  # batches, far more than the 100 that Spark retains; a file has 13 bytes


class BatchTimes:
    """
    The times of a query's batches, in the files `times/N` of its checkpoint.

    The time of batch N is max(now, time of N-1 + 2 ms), so it rises even if the clock is set back: HBase would hide an
    update that is older than the value it replaces. The times of a new checkpoint can start after those of an earlier
    one: by `start_after`, or by a file that both share.

    Args:
        folder: of the files; created if missing.
        now_ms: the clock.
        newest: file outside the checkpoint for the newest time, so that a new checkpoint has later times after this one
            was removed; None for no such file.
    """

    def __init__(self, folder: StatePath, now_ms: Callable[[], int], newest: StatePath | None = None) -> None:
        self._folder = folder
        self._now_ms = now_ms
        self._newest = newest
        for each in (folder,) if newest is None else (folder, newest.parent):
            with file_errors(each):
                make_folder(each)

    def of(self, batch_id: int) -> int:
        """
        The time of a batch in ms; stored before it is returned.

        Raises:
            CheckpointError: the stored time is damaged.
            StoreUnavailableError: the time cannot be stored now.
            IntegrityError: the disk failed, so it is unknown whether the time was stored.
        """
        with file_errors(self._folder / str(batch_id)):
            return self._of(batch_id)

    def known(self, batch_id: int) -> int | None:
        """
        The stored time of a batch in ms; None if it has none.

        Raises:
            CheckpointError: the stored time is damaged.
            StoreUnavailableError: the folder cannot be read now.
        """
        with file_errors(self._folder / str(batch_id)):
            return self._read(str(batch_id))

    def name_of(self, batch_id: int) -> str:
        """
        The name of a batch: its time, or its first time if it was renewed. So a sink that has files of its earlier run
        finds them.

        Raises:
            CheckpointError: the stored time is damaged.
            StoreUnavailableError: the folder cannot be read now.
        """
        return stored_name(self._folder, batch_id) or str(self.of(batch_id))

    def renew(self, batch_id: int, after_ms: int = 0) -> None:
        """
        Give a batch that was not acknowledged a later time; its name stays.

        Args:
            batch_id: its number.
            after_ms: a time that it must be later than, too.

        Raises:
            CheckpointError: the stored time is damaged.
            StoreUnavailableError: the time cannot be stored now; the earlier one stays.
            IntegrityError: the disk failed.
        """
        with file_errors(self._folder / str(batch_id)):
            before_ms = self._of(batch_id)
            time_ms = max(self._now_ms(), max(before_ms, after_ms) + MIN_GAP_MS)
            self._keep_name(batch_id, before_ms, first=batch_id)
            if self._newest is not None:
                write_durably(self._newest, str(time_ms).encode())
            write_durably(self._folder / str(batch_id), str(time_ms).encode())

    def forget(self, batch_ids: Iterable[int]) -> None:
        """
        Remove the times of batches that had begun and are not planned any more: batches of these numbers get later
        times, above those that were removed. Their names stay.

        Raises:
            CheckpointError: a stored time is damaged.
            StoreUnavailableError: not possible now; some may be removed, and the caller repeats the call.
            IntegrityError: the disk failed.
        """
        with file_errors(self._folder):
            times = {batch_id: time_ms for batch_id in batch_ids if (time_ms := self._read(str(batch_id))) is not None}
            for batch_id, time_ms in times.items():
                self._keep_name(batch_id, time_ms, first=min(times))
            self.start_after(max(times.values(), default=0))
            for batch_id in sorted(times, reverse=True):  # a call after a kill has the same first one
                (self._folder / str(batch_id)).unlink()
                sync_folder(self._folder)

    def note(self, batch_id: int) -> str:
        """
        The time of a batch as text, to be stored outside the checkpoint; "" if it has none.

        Raises:
            CheckpointError: the stored time is damaged.
            StoreUnavailableError: the folder cannot be read now.
        """
        return str(self.known(batch_id) or "")

    def start_after(self, time_ms: int) -> None:
        """
        Make the first batch later than a batch of an earlier checkpoint; of several calls the latest time counts.

        Raises:
            StoreUnavailableError: the time cannot be stored now.
            IntegrityError: the disk failed.
        """
        with file_errors(self._folder / _FLOOR):
            if time_ms > (self._read(_FLOOR) or 0):
                write_durably(self._folder / _FLOOR, str(time_ms).encode())

    def start_after_now(self, time_ms: int = 0) -> int:
        """
        Make the first batch later than the present time, too; returns the time that it is later than.

        Args:
            time_ms: as in `start_after`.

        Raises:
            StoreUnavailableError: the time cannot be stored now.
            IntegrityError: the disk failed.
        """
        latest_ms = max(self._now_ms(), time_ms)
        self.start_after(latest_ms)
        return self._read(_FLOOR) or latest_ms

    def _of(self, batch_id: int) -> int:
        known = self._read(str(batch_id))
        if known is not None:
            sync_folder(self._folder)  # a process that was killed before its own sync may have written it
            return known
        time_ms = max(self._now_ms(), self._newest_before(batch_id) + MIN_GAP_MS)
        if self._newest is not None:
            # before any write with this time, so that a new checkpoint always starts after it
            with file_errors(self._newest):
                time_ms = max(time_ms, (_time_in(self._newest) or 0) + MIN_GAP_MS)
                write_durably(self._newest, str(time_ms).encode())
        try:
            create_durably(self._folder / str(batch_id), str(time_ms).encode())
        except FileExistsError:
            # another driver chose it meanwhile: whoever runs this batch writes the same cells
            return self._of(batch_id)
        (self._folder / str(batch_id - RETAINED)).unlink(missing_ok=True)
        return time_ms

    def _newest_before(self, batch_id: int) -> int:
        floor = self._read(_FLOOR) or 0
        earlier = self._read(str(batch_id - 1))
        if earlier is not None:
            return max(earlier, floor)
        numbers = [int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()]
        before = [number for number in numbers if number < batch_id]
        return max(self._read(str(max(before))) or 0 if before else 0, floor)

    def _keep_name(self, batch_id: int, time_ms: int, *, first: int) -> None:
        """Store the name of a batch that gets another time; remove those of the acknowledged ones below `first`."""
        name = self._folder / f"{batch_id}{_NAME}"
        if name.exists():
            return
        entries: list[StatePath] = [*self._folder.iterdir()]
        for path in entries:
            number = path.name.removesuffix(_NAME)
            if path.name.endswith(_NAME) and number.isdecimal() and int(number) < first:
                path.unlink(missing_ok=True)
        write_durably(name, str(time_ms).encode())

    def _read(self, name: str) -> int | None:
        return _time_in(self._folder / name)


def stored_time(folder: StatePath, batch_id: int) -> int | None:
    """
    The time of a batch in the folder of a checkpoint's times, in ms; None if it has none. Changes nothing on disk.

    Raises:
        CheckpointError: the stored time is damaged.
        StoreUnavailableError: the file cannot be read now.
    """
    path = folder / str(batch_id)
    with file_errors(path):
        return _time_in(path)


def stored_name(folder: StatePath, batch_id: int) -> str | None:
    """
    The name of a batch in the folder of a checkpoint's times; None if it has no time. Changes nothing on disk.

    Raises:
        CheckpointError: the stored time is damaged.
        StoreUnavailableError: the file cannot be read now.
    """
    path = folder / f"{batch_id}{_NAME}"
    with file_errors(path):
        first_ms = _time_in(path)
    time_ms = stored_time(folder, batch_id) if first_ms is None else first_ms
    return None if time_ms is None else str(time_ms)


def stored_times(folder: StatePath) -> frozenset[int]:
    """
    The times in the folder of a checkpoint's times, in ms; of a batch that was renewed also its first one.

    Raises:
        CheckpointError: a stored time is damaged.
        StoreUnavailableError: the folder cannot be read now.
    """
    with file_errors(folder):
        entries: list[StatePath] = [*folder.iterdir()] if folder.is_dir() else []
        found = [_time_in(path) for path in entries if path.name.removesuffix(_NAME).isdecimal()]
    return frozenset(time_ms for time_ms in found if time_ms is not None)


def newest_time(folder: StatePath, without: Collection[int] = ()) -> int | None:
    """
    The newest time in the folder of a checkpoint's times, also that of an earlier checkpoint, in ms; None for none.

    Args:
        folder: of the times.
        without: numbers of batches that do not count.

    Raises:
        CheckpointError: a stored time is damaged.
        StoreUnavailableError: the folder cannot be read now.
    """
    with file_errors(folder):
        entries: list[StatePath] = [*folder.iterdir()] if folder.is_dir() else []
        ignored = set(map(str, without))
        found = [
            _time_in(path)
            for path in entries
            if path.name == _FLOOR or (path.name.isdecimal() and path.name not in ignored)
        ]
    return max((time_ms for time_ms in found if time_ms is not None), default=None)


def newest_noted(notes: Iterable[str]) -> int:
    """The newest time at the beginning of notes, in ms; other texts are ignored, and 0 means no time."""
    times = (note.partition(" ")[0] for note in notes)
    return max((int(time) for time in times if time.isdecimal()), default=0)


def _time_in(path: StatePath) -> int | None:
    try:
        return int(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise CheckpointError(
            f'the time in "{path}" is damaged',
            hint="restore the file, or its value from the timestamps of the cells that this batch wrote; "
            "any other value may hide updates",
        ) from error
