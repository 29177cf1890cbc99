"""Errors of dumps."""

from ingest.api import IntegrityError, NotFoundError


class DumpNotAvailableError(NotFoundError):
    """There is no complete dump below the root, or the named dump is incomplete or has expired."""

    code = "dump_not_available"
    remedy = "Choose a complete dump of `attr2hbase dump ls`, or make one with `attr2hbase dump run`."


class TableNotDumpedError(NotFoundError):
    """The table had no rows when the dump was made."""

    code = "table_not_dumped"
    remedy = "None: the table was empty. Choose another dump if it had rows then."


class TableNotInDumpError(NotFoundError):
    """The dump does not know the table."""

    code = "table_not_in_dump"
    hint = "'attr2hbase dump tables' lists them; `--table NAME` of 'attr2hbase dump bootstrap' is one of them"


class DumpCorruptError(IntegrityError):
    """
    A file of a dump is damaged, or it is not the file that the manifest of the dump describes.

    Attributes:
        file: its path below the root.
        offset: byte in the file at which it ends or is damaged; None if a line or the whole file is damaged.
        line: number of the damaged line, from 1; None if the damage is not within a line.
    """

    code = "dump_corrupt"
    remedy = "Read another dump, or restore the file from a copy; `--skip-bad` skips damaged lines."

    def __init__(
        self, file: str, reason: str, *, offset: int | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        place = f", byte {offset}" if offset is not None else f", line {line}" if line is not None else ""
        super().__init__(
            f'"{file}"{place}: {reason}', hint=hint or "read another dump, or restore the file from a copy"
        )
        self.file = file
        self.offset = offset
        self.line = line

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self.message, self.hint, self.file, self.offset, self.line)


def _rebuilt(message: str, hint: str | None, file: str, offset: int | None, line: int | None) -> DumpCorruptError:
    """The error in another process: an exception with keyword arguments cannot be pickled by itself."""
    error = DumpCorruptError(file, "", offset=offset, line=line, hint=hint)
    error.message, error.args = message, (message,)
    return error
