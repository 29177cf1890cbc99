"""Dead letters in files under the state folder, one file for each micro-batch."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from ingest.api import IntegrityError, NotFoundError
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.marks import Marks
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Keeps, Mark, keeps_none, with_unneeded_blobs
from ingest.durable import StatePath, file_errors, make_folder, sync_folder, write_durably

_SUFFIX = ".jsonl"
_MARKS = ".replayed"
_POSITION = re.compile(r"([0-9]{15}-[0-9]{10}):([0-9]{1,9})")


class FileDeadLetters(DeadLetterQueue):
    """
    `dead-letters/PIPELINE/BATCH_TIME-BATCH.jsonl`: one line for each dead letter.

    A file is complete or missing, and publishing a batch again replaces its file, so there are no duplicates. The batch
    time comes first: it rises with every batch, while batch numbers start at 0 again with a new checkpoint. Names are
    padded, so their order is the order of the batches. A position is `BATCH_TIME-BATCH:LINE`, lines counted from 0; the
    line of a removed dead letter is empty. A dead letter that stays when a batch is published again keeps its line, and
    the new ones follow. Only the owner can read the folder, because dead letters contain bodies.

    Args:
        state: root of the state.
    """

    def __init__(self, state: StatePath, pipeline: str) -> None:
        self._folder = folder_of(state, pipeline)

    def prepare(self) -> None:
        """Make durable what a process that was killed has written or removed; the first one creates the folder."""
        with file_errors(self._folder):
            if self._folder.is_dir():
                sync_folder(self._folder)

    def publish(
        self, dead_letters: Sequence[bytes], batch_id: int, batch_time_ms: int, keeps: Keeps = keeps_none
    ) -> Sequence[DeadLetter]:
        """Replace the file of the batch, or remove it if no dead letter is left."""
        path = self._path(batch_id, batch_time_ms)
        with file_errors(self._folder):
            before = path.read_bytes() if path.exists() else b""
            earlier = dict(_readable(before))
            kept = {number for number, dead_letter in earlier.items() if keeps(dead_letter)}
            lines = before.split(b"\n")
            stay = [lines[number] if number in kept else b"" for number in range(max(kept, default=-1) + 1)]
            content = b"".join(line + b"\n" for line in [*stay, *dead_letters])
            if before or content:
                # the lines now have other failures; without a file, the marks are those of an interrupted removal
                Marks(path.with_suffix(_MARKS)).keep({str(number) for number in kept})
            if content:
                make_folder(self._folder)
                write_durably(path, content)
            elif before:
                path.unlink()
                sync_folder(self._folder)
        replaced = () if before == content else (each for number, each in earlier.items() if number not in kept)
        return with_unneeded_blobs(replaced, self._entries_at(batch_time_ms))

    def pointers(self, count: int, batch_id: int, batch_time_ms: int) -> list[str]:
        """The file and line of each of the `count` dead letters of a batch that were published last."""
        if not count:
            return []
        path = self._path(batch_id, batch_time_ms)
        with file_errors(self._folder):
            end = path.read_bytes().count(b"\n")
        return [f"{path}:{line}" for line in range(end - count, end)]

    def follow(self, pointer: str) -> DeadLetter:
        """
        The complete dead letter that a pointer names.

        Uses only the file name, in this queue's folder: a pointer comes from a topic, and must not open other files.

        Raises:
            NotFoundError: it is not on this machine.
        """
        return self.read(pointer.rpartition("/")[2].replace(_SUFFIX, "")).dead_letter

    def entries(self) -> Iterator[Entry]:
        """All dead letters, oldest batch first; without those that are removed meanwhile."""
        with file_errors(self._folder):
            yield from self._entries_in(self._files())

    def batch_times(self) -> frozenset[int]:
        """The times of the batches that have dead letters here, in ms."""
        with file_errors(self._folder):
            return frozenset(int(path.name.partition("-")[0]) for path in self._files())

    def read(self, position: str) -> Entry:
        """The dead letter at `BATCH_TIME-BATCH:LINE`."""
        match = _POSITION.fullmatch(position)
        if match is not None:
            try:
                for entry in self._entries_of(self._folder / (match[1] + _SUFFIX)):
                    if entry.position == f"{match[1]}:{int(match[2])}":
                        return entry
            except FileNotFoundError:
                pass
        raise NotFoundError(
            f'no dead letter "{position}" in "{self._folder}"',
            hint="'attr2hbase dead-letters list' shows all positions",
        )

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """Write marks beside the files of their dead letters."""
        by_file: dict[str, dict[str, Mark]] = {}
        for position, mark in marks.items():
            stem, _, line = position.partition(":")
            by_file.setdefault(stem, {})[line] = mark
        with file_errors(self._folder):
            for stem, lines in by_file.items():
                Marks(self._folder / (stem + _MARKS)).add(lines)

    def remove(self, positions: Iterable[str]) -> None:
        """Empty the lines of dead letters, so that the others keep their positions; delete a file without any."""
        by_file: dict[str, set[int]] = {}
        for position in positions:
            stem, _, line = position.partition(":")
            by_file.setdefault(stem, set()).add(int(line))
        with file_errors(self._folder):
            for stem, numbers in by_file.items():
                path = self._folder / (stem + _SUFFIX)
                if not path.exists():
                    continue
                lines = path.read_bytes().split(b"\n")
                remaining = [b"" if number in numbers else line for number, line in enumerate(lines)]
                if any(remaining):
                    write_durably(path, b"\n".join(remaining))
                else:
                    path.unlink()
                    path.with_suffix(_MARKS).unlink(missing_ok=True)
                    sync_folder(self._folder)

    def close(self) -> None:
        """Does nothing: no file stays open."""

    def _path(self, batch_id: int, batch_time_ms: int) -> StatePath:
        return self._folder / f"{_prefix(batch_time_ms)}{batch_id:010d}{_SUFFIX}"

    def _files(self) -> list[StatePath]:
        if not self._folder.is_dir():
            return []
        dead_letters = (path for path in self._folder.iterdir() if path.suffix == _SUFFIX)
        return sorted(path for path in dead_letters if _POSITION.fullmatch(f"{path.stem}:0"))

    def _entries_at(self, batch_time_ms: int) -> Iterator[Entry]:
        """The dead letters of a batch time: those of a batch, or of replays of several ranges."""
        with file_errors(self._folder):
            yield from self._entries_in(path for path in self._files() if path.name.startswith(_prefix(batch_time_ms)))

    def _entries_in(self, paths: Iterable[StatePath]) -> Iterator[Entry]:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                yield from self._entries_of(path)

    def _entries_of(self, path: StatePath) -> Iterator[Entry]:
        marks = Marks(path.with_suffix(_MARKS)).load()
        with path.open("rb") as file:
            for number, line in enumerate(file):
                if line == b"\n":  # removed
                    continue
                try:
                    dead_letter = DeadLetter.from_json(line)
                except IntegrityError as error:
                    raise IntegrityError(
                        f'"{path}", line {number + 1}: {error}', hint="move the file away; the others stay readable"
                    ) from error
                yield Entry(f"{path.stem}:{number}", dead_letter, marks.get(str(number)))


def _prefix(batch_time_ms: int) -> str:
    """Of the names of the files of a batch time."""
    return f"{batch_time_ms:015d}-"


def _readable(content: bytes) -> Iterator[tuple[int, DeadLetter]]:
    """The dead letters of a file that is replaced, each with the number of its line, without damaged lines."""
    for number, line in enumerate(content.split(b"\n")):
        # a damaged line does not keep the batch from being published; 'attr2hbase admin blob check' finds its reference
        with contextlib.suppress(IntegrityError):
            if line:
                yield number, DeadLetter.from_json(line)


def folder_of(state: StatePath, pipeline: str) -> StatePath:
    """The folder of a pipeline's dead letters; no pipeline name escapes from the state folder."""
    name = quote(pipeline, safe="", errors="surrogatepass")
    return state / "dead-letters" / (f"%2E{name[1:]}" if name.startswith(".") else name)
