"""Options of the files source."""

import glob
from pathlib import Path

from ingest.api import ByteSize, Decoding, Encoding, Format, LocalPath, OffsetUnit, SourceSettings, option
from ingest.api.source import MAX_EVENT_BYTES


class FilesSourceSettings(SourceSettings):
    """Options of the files source."""

    path: LocalPath = option("A file, a folder or a glob.", example="/var/log/app/*.log", min_length=1)
    format: Format = option("How a line holds an event: raw, json or flume_avro.", default="raw", strict=False)
    encoding: Encoding = option(
        "Lines in UTF-16 (`utf-16le`, `utf-16be`) become UTF-8; the bytes of others do not change (`utf8`), and "
        "`convert` reads other encodings. The byte order mark of a file is removed; one of UTF-16 also tells where "
        "lines end.",
        default="utf8",
        strict=False,
    )
    max_event_bytes: ByteSize = option("A longer line fails.", default="1MiB", ge=1, le=MAX_EVENT_BYTES)

    @property
    def decoding(self) -> Decoding:
        """The decoding options; a line is never a tombstone."""
        return Decoding(self.format, self.max_event_bytes, has_unread=True, encoding=self.encoding)

    @property
    def summary(self) -> str:
        """The path."""
        return self.path

    @property
    def line_files(self) -> str:
        """The path."""
        return self.path

    @property
    def read_again_by(self) -> OffsetUnit:
        """An offset is that of the first byte of a line."""
        return OffsetUnit.BYTES

    @property
    def has_headers(self) -> bool:
        """False: a line has no headers."""
        return False

    @property
    def has_record_times(self) -> bool:
        """False: every line has the modification time of its file."""
        return False

    @property
    def has_unique_nanos(self) -> bool:
        """False: lines with the same time, a multiple of 10,000 bytes apart, have the same nanos."""
        return False

    @property
    def fixed_names(self) -> frozenset[str]:
        """The partition is always 0, the key always empty; the topic, if the path can only be that of one file."""
        is_one_file = not glob.has_magic(self.path) and not Path(self.path).is_dir()
        return frozenset({"partition", "key", "topic"} if is_one_file else {"partition", "key"})
