"""Error codes of dumps: what raises them, and their meaning."""

from ingest.api import IngestError
from sinks.dumps.errors import (
    DumpCorruptError,
    DumpNotAvailableError,
    TableNotDumpedError,
    TableNotInDumpError,
)

DUMP_CODES: dict[str, tuple[type[IngestError], str]] = {
    "dump_corrupt": (
        DumpCorruptError,
        "A file of a dump is damaged, or it is not the file that the manifest of the dump describes.",
    ),
    "dump_not_available": (
        DumpNotAvailableError,
        "There is no complete dump below the root, or the named dump is incomplete or has expired.",
    ),
    "table_not_in_dump": (TableNotInDumpError, "The dump does not know the table."),
    "table_not_dumped": (TableNotDumpedError, "The table had no rows when the dump was made."),
}
"""Code -> what raises it, and its meaning."""
