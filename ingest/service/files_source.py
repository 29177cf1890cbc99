"""The files source on the driver: its path, and the number of files."""

import glob
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.amounts import counted
from ingest.api import Example, NotFoundError, RecordPlace, Source
from ingest.sources.files import FilesSourceSettings
from ingest.sources.lines import files_at

if TYPE_CHECKING:  # `describe` shows this source and needs no Spark
    from ingest.spark.streaming.reading import Frame, Session


class FilesSource(Source[FilesSourceSettings]):
    r"""
    Read complete files, one event per line; plain text or gzip.

    An event is identified by the path of its file (`%{topic}`) and its byte offset in the file (`%{offset}`); its time
    is the file's modification time. Both are stored when the file is discovered, so a replay yields the same events.

    A file that cannot be read as it was found becomes a dead letter by its path, which says from which byte on it was
    not read, and the other files are read. `attr2hbase dead-letters replay` reads what is at the path then.

    - A gzip file that is truncated, damaged or no gzip file: nothing of it is read, since all of it is decompressed
      once before.
    - A file that is replaced or removed before it was read; and lines added later to a file that was read. So copy a
      file under a name that begins with a dot, or from another folder of the disk, and then rename it. A file that
      keeps changing has a dead letter every ten minutes at most.
    - A file that may not be read, or whose folder is empty (its disk may not be mounted), blocks the pipeline instead.

    A last line without a line end is read once its file has not changed for ten seconds: until then it may go on.
    `attr2hbase run --once` waits for that. If something is added to a file, the lines that it had at its discovery are
    read, and the dead letter begins after the last of them that had a line end. If the rest of a line was added more
    than ten seconds after its beginning, an event was made of the beginning too, and the dead letter says so.

    A file has grown if the last KiB before its former end is the same; else it was replaced, and the dead letter is of
    all of its lines.

    A file that was read to its end may be moved away. The next batch records its removal, unless the folder is empty.
    From then on a file at this path becomes a dead letter, new or restored, because its events would overwrite those of
    the first. The last 10,000 removals are stored; a file at an older path is read, and its events do overwrite. A
    daily export therefore needs the date in its file name.

    If a table of the pipeline has deferred updates or a change feed, a file that is replaced or removed between
    discovery and reading stops the pipeline, and so does a last line that goes on in between: an earlier attempt may
    have counted its lines. Restore the file; or move the checkpoint away, and a new one starts where the tables end.

    In `%{topic}`, a byte of the path that is not UTF-8 is written as `\xe9`, and a backslash before such text is
    doubled, so every file has a topic of its own.
    """

    kind = "files"
    supports_resume_at = True
    examples = (
        Example("all log files of a folder", settings="{path: '/var/log/app/*.log.gz'}"),
        Example("lines that are JSON envelopes", settings="{path: ./data, format: json}"),
    )

    @classmethod
    def check(cls, settings: FilesSourceSettings) -> str:
        """The number of files."""
        count = len(dict(files_at(settings.path)))
        if not count:
            raise NotFoundError(
                f'there is no file at "{settings.path}"', hint="relative paths start at the current folder"
            )
        return counted(count, "file")

    def identity(self) -> Mapping[str, str]:
        """The absolute path."""
        path = Path(self.settings.path)
        if not glob.has_magic(self.settings.path) and not path.exists():
            raise NotFoundError(
                f'there is no file at "{self.settings.path}"',
                hint=f'relative paths start at the current folder, "{Path.cwd()}"',
            )
        return {"path": str(path.absolute())}

    def frame(self, session: "Session") -> "Frame":
        """The stream of lines."""
        from ingest.spark.streaming.reading import read_files

        return read_files(session, self.settings, self.context.max_records, self._first_offset())

    def splits(self, batch_id: int) -> list[RecordPlace]:
        """The ranges of files of the micro-batch."""
        from ingest.spark.streaming.files_reader import ranges_between

        positions = self.context.positions
        begin = positions.end_offsets(batch_id - 1) if batch_id else self._first_offset()
        return [piece.first_place for piece in ranges_between(begin, positions.end_offsets(batch_id))]

    def _first_offset(self) -> dict[str, Any]:
        """
        Where a query without an acknowledged batch starts: at the committed positions of its tables, else with no file
        read.
        """
        is_first = self.context.positions.newest_commit() is None
        return dict((self.context.resume_at() if is_first else None) or {})
