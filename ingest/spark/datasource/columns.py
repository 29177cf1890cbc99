"""The columns that the option `columns` declares."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.api import ConfigError
from ingest.api.notation import from_readable
from ingest.formats.cell_types import CellType
from ingest.suggest import did_you_mean

ROW = "row"
"""Name of the row key, in the option and, by default, in SQL."""
TypeOf = Callable[[bytes], CellType | None]
"""A column, `family:qualifier` -> its type; None if it has none."""

_PART = re.compile(r"(?P<source>\S+)(?:\s+as\s+(?P<name>\S+))?(?:\s+(?P<type>\S+))?")
_NAME = re.compile(r"\w+")
_EXAMPLE = 'write "web:status as status int32, web:agent as agent utf8"'


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """
    One column of the DataFrame.

    Attributes:
        name: in the DataFrame.
        column: `family:qualifier` in the table.
    """

    name: str
    column: bytes
    cell_type: CellType


@dataclass(frozen=True, slots=True)
class RowKey:
    """
    The row key as a column of the DataFrame.

    Attributes:
        is_text: its type is string, and every key must be UTF-8; else it is binary.
    """

    name: str = ROW
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class DeclaredColumns:
    """The row key, and the declared columns in order; without any, all cells of a row are one column."""

    row: RowKey = RowKey()
    columns: tuple[DeclaredColumn, ...] = ()

    @classmethod
    def parse(cls, text: str, type_of: TypeOf = lambda _column: None) -> "DeclaredColumns":
        r"""
        The columns of `SOURCE [as NAME] [TYPE], …`.

        SOURCE is `family:qualifier`, or `row` for the row key, where `\xNN` is a byte, as for a comma or a space. NAME
        is by default the qualifier, TYPE is by default that of the table, or else utf8, and binary for the row key.

        Args:
            text: of the option.
            type_of: a column -> its type in the table; None if it has none. Called for columns without TYPE.

        Raises:
            ConfigError: the text does not declare columns.
        """
        row = RowKey()
        columns: list[DeclaredColumn] = []
        for part in text.split(","):
            match = _PART.fullmatch(part.strip())
            if match is None:
                raise ConfigError(f'"{part.strip()}" does not declare a column', hint=_EXAMPLE)
            if match["source"] == ROW:
                row = RowKey(match["name"] or ROW, is_text=_is_text(match["type"]))
            else:
                columns.append(_column(match["source"], match["name"], match["type"], type_of))
        names = [row.name.lower(), *(column.name.lower() for column in columns)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f'two columns are named "{twice}"', hint="give one another name, as in web:x as other")
        if not columns:
            raise ConfigError(f'"{text}" declares no column of the table', hint=_EXAMPLE)
        return cls(row, tuple(columns))

    @property
    def names(self) -> tuple[bytes, ...] | None:
        """The columns to read, for a scan; None for all."""
        return tuple(column.column for column in self.columns) or None

    def __iter__(self) -> Iterator[DeclaredColumn]:
        return iter(self.columns)


def _column(source: str, name: str | None, type_name: str | None, type_of: TypeOf) -> DeclaredColumn:
    column = from_readable(source)
    family, colon, qualifier = column.partition(b":")
    if not family or not colon:
        raise ConfigError(f'"{source}" is not family:qualifier', hint=_EXAMPLE)
    if name is None:
        name = qualifier.decode("utf-8", "replace")
        if not _NAME.fullmatch(name):
            raise ConfigError(f'the qualifier of "{source}" is no name for SQL', hint=f'write "{source} as NAME"')
    cell_type = (type_of(column) or CellType.UTF8) if type_name is None else _cell_type(type_name)
    return DeclaredColumn(name, column, cell_type)


def _cell_type(name: str) -> CellType:
    try:
        return CellType(name)
    except ValueError as error:
        hint = did_you_mean(name, CellType) or f"there are {', '.join(CellType)}"
        raise ConfigError(f'there is no type "{name}"', hint=hint) from error


def _is_text(type_name: str | None) -> bool:
    if type_name not in {None, "binary", CellType.UTF8}:
        raise ConfigError(f'the row key cannot be "{type_name}"', hint="it is binary or utf8")
    return type_name == CellType.UTF8
