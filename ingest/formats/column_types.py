"""
How the values of a table's columns are shown: as text and in JSON.

In JSON a value is a number, true or false if its column has such a type, and else a string, or `{"b64": …}` for bytes
that are not UTF-8. So a value that is not of the type of its column is never mistaken for one that is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.api.notation import from_readable, readable, to_notation
from ingest.formats.cell_types import CODECS, CellType
from ingest.formats.numbers import float32

_WORDS = {True: "true", False: "false"}


class ShownValue(NamedTuple):
    """
    A value as it is shown.

    Attributes:
        text: on one line.
        plain: for JSON.
        misfit: why it is shown as bytes though its column has a type; "" if it is not.
    """

    text: str
    plain: object
    misfit: str = ""


@dataclass(frozen=True, slots=True)
class ColumnTypes:
    """
    The types of the columns of a table.

    Attributes:
        types: `family:qualifier` of a column, or `family` for the other columns of a family, or b"" for all others ->
            type. A column without a type is shown as bytes.
    """

    types: Mapping[bytes, CellType] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether a column has a type."""
        return bool(self.types)

    def to_json(self) -> dict[str, str]:
        r"""As plain data: names with `\xNN` for bytes that are not printable."""
        return {readable(name): cell_type.value for name, cell_type in self.types.items()}

    @classmethod
    def from_json(cls, content: Mapping[str, str]) -> "ColumnTypes":
        """The inverse of `to_json`; types that a later version has written and this one does not know are left out."""
        known = set(CellType)
        return cls({from_readable(name): CellType(each) for name, each in content.items() if each in known})

    def of(self, column: bytes) -> CellType | None:
        """The type of a column, `family:qualifier`; None if it has none."""
        types = self.types
        return types.get(column) or types.get(column.partition(b":")[0]) or types.get(b"")

    def shown(self, column: bytes, value: bytes) -> ShownValue:
        """A value of a column."""
        cell_type = self.of(column) if self.types else None
        if cell_type is None:
            return ShownValue(readable(value), to_notation(value))
        try:
            decoded = CODECS[cell_type].decode(value)
        except ValueError:
            size = f"{len(value):,} byte{'' if len(value) == 1 else 's'}"
            return ShownValue(readable(value), to_notation(value), f"not {cell_type}, {size}")
        if isinstance(decoded, str):
            return ShownValue(readable(value), decoded)
        if cell_type is CellType.FLOAT32:
            decoded = float32(decoded)
        return ShownValue(_WORDS[decoded] if isinstance(decoded, bool) else str(decoded), decoded)

    def plain(self, column: bytes, value: bytes) -> object:
        """A value of a column, for JSON."""
        return self.shown(column, value).plain if self.types else to_notation(value)


AS_BYTES = ColumnTypes()
"""No column has a type."""
