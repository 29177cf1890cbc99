"""Options of finished files as a source."""

from typing import ClassVar

from ingest.api import ByteSize, Example, Model, Stability, option
from ingest.sources.decoding import Format


class FilesSource(Model):
    r"""
    Read finished files, a line an event; plain or gzip.

    An event is identified by the path of its file (`%{topic}`) and its byte offset in it (`%{offset}`); its time is the
    file's time of change. Both are noted when the file is discovered, so a replay gives the same. A file that changes
    afterwards is refused, until it has its old bytes and time again; one that was read to its end may be moved away.
    The next batch forgets it, unless it leaves an empty folder, but for a note of its path: a file that is found there
    later, a new one or the same one put back, is refused, as its events would be written over those of the first. The
    notes of the last 10,000 files are kept; a file at an older path is read, and does write over. So an export that is
    made anew each day needs the day in its name.

    In the topic a byte of the path that is not UTF-8 stands as `\xe9`, and a path that has such text in its name gets
    the backslash doubled, so each file has a topic of its own.
    """

    kind: ClassVar[str] = "files"
    stability: ClassVar[Stability] = Stability.STABLE
    examples: ClassVar[tuple[Example, ...]] = (
        Example("every log of a folder", settings="{path: '/var/log/app/*.log.gz'}"),
        Example("lines that hold JSON envelopes", settings="{path: ./data, format: json}"),
    )

    path: str = option("A file, a folder or a glob.", example="/var/log/app/*.log", min_length=1)
    format: Format = option("How a line holds an event: raw, json or flume_avro.", default="raw", strict=False)
    max_event_bytes: ByteSize = option("A longer line fails.", default="1MiB", ge=1)
