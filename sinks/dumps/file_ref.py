"""A reference to one file of a table in a dump, and the token that names it in another process."""

import base64
import binascii
from typing import NamedTuple, Self

from ingest.api import ConfigError
from sinks.dumps.layout import FileFormat, dump_time, encoded_table, file_format


class FileRef(NamedTuple):
    """
    One file of a table in a dump.

    Attributes:
        dump: its folder.
        table: name of the table.
        path: of the file, below the folder of the dump.
        size_bytes: of the file.
    """

    dump: str
    table: str
    path: str
    size_bytes: int

    @property
    def file_format(self) -> FileFormat:
        """Of the file."""
        found = file_format(self.path)
        assert found is not None  # noqa: S101 - for mypy: the file was listed by its format
        return found

    @property
    def token(self) -> str:
        """
        The reference as text; it names the dump, so it keeps its meaning when there is a newer one.

        As EmoDB's tokens: base64url without padding of the reversed text `table`, `path`, `size`, one a line. Reversed,
        the tokens of a table differ at their start.
        """
        text = f"{self.table}\n{self.dump}/{self.path}\n{self.size_bytes}"
        return base64.urlsafe_b64encode(text[::-1].encode()).decode().rstrip("=")

    @classmethod
    def of_token(cls, token: str) -> Self:
        """
        The reference of a token.

        Raises:
            ConfigError: it is damaged.
        """
        try:
            content = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
            table, path, size = content.decode()[::-1].split("\n")
            dump, _, file = path.partition("/")
            ref = cls(dump, table, file, int(size))
        except (binascii.Error, ValueError) as error:
            raise _damaged(token) from error
        folder, _, name = file.partition("/")
        is_of_dump = dump_time(dump) is not None and folder == encoded_table(table) and folder not in {"", ".", ".."}
        if not is_of_dump or "/" in name or file_format(name) is None:
            raise _damaged(token)
        return ref


def _damaged(token: str) -> ConfigError:
    return ConfigError(f'"{token}" is no token of a file', hint="'attr2hbase dump files' lists them")
