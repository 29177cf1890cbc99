"""Attributes named `2hb_family:qualifier` become cells: the data defines columns and families."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Self

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Event, Example, OptionPath, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Template
from sinks.mapping.guards import NameGuard, NoRowKeyError, refuse_own_families
from sinks.mapping.mapper import Mapped, Mapper, MapperSettings, Skipped
from sinks.mapping.mutations import mutation_maker
from sinks.mapping.tables import TableTemplate
from sinks.mapping.values import PRIORITY_BYTES, time_bytes

_MAX_NAMES = 20_000  # cached columns; a bound, since names come from the data
_NO_ROW_KEY = Skipped(NoRowKeyError.code)


class OnMissingKey(StrEnum):
    """The action for an event without a row key."""

    DROP = "drop"
    ERROR = "error"


class Attr2HBaseSettings(MapperSettings):
    """Options of the attr2hbase sink."""

    table: TableTemplate = option("Table that events go to; a template.", example="mytable")
    attr_prefix: str = option(
        "Prefix of cell attributes; the attribute equal to the prefix is the row key. May be empty.",
        default="2hb_",
    )
    sys_family: str | None = option(
        "Family for the columns `timestamp` (8 bytes, milliseconds), `host` and `priority` of every event, and for "
        "attributes without a family.",
        default=None,
        example="sys",
    )
    write_body: str | None = option(
        "Column, `family:qualifier`, for a body that is not empty.", default=None, example="raw:line"
    )
    on_missing_key: OnMissingKey = option(
        "For an event without a row key: it fails (`error`), or is dropped as no_row_key (`drop`).",
        default="error",
        strict=False,
    )

    @property
    def table_template(self) -> Template:
        """The option `table`."""
        return self.table

    @property
    def cell_prefix(self) -> str:
        """The option `attr_prefix`."""
        return self.attr_prefix

    @property
    def adds_cells(self) -> bool:
        """Whether there are system cells or a cell with the body."""
        return self.sys_family is not None or self.write_body is not None

    @property
    def keeps_bare_names(self) -> bool:
        """Whether there is a `sys_family`, to which they are written."""
        return self.sys_family is not None

    def named_families(self) -> Iterator[tuple[OptionPath, str]]:
        """Also those of the system cells and of the body."""
        if self.sys_family is not None:
            yield ("sys_family",), self.sys_family
        if self.write_body is not None:
            yield ("write_body",), self.write_body.partition(":")[0]
        yield from super().named_families()

    @property
    def own_families(self) -> frozenset[bytes]:
        """The families of the system cells and of the body."""
        named = [] if self.sys_family is None else [name_to_bytes(self.sys_family)]
        if self.write_body is not None:
            named.append(self.write_body.encode().partition(b":")[0])
        return frozenset(named)

    @field_validator("sys_family")
    @classmethod
    def _family(cls, family: str | None) -> str | None:
        if family is not None and ":" in family:
            raise PydanticCustomError("wrong_type", '"{family}" is not the name of a family', {"family": family})
        return family or None

    @field_validator("write_body")
    @classmethod
    def _column(cls, column: str | None) -> str | None:
        if column and [bool(part) for part in column.split(":")] != [True, True]:
            raise PydanticCustomError(
                "wrong_type", '"{column}" is not a column; write family:qualifier, both of them', {"column": column}
            )
        return column or None

    @model_validator(mode="after")
    def _own_families_are_allowed(self) -> Self:
        named = {"sys_family": self.sys_family, "write_body": self.write_body}
        families = {(name,): text.encode().partition(b":")[0] for name, text in named.items() if text is not None}
        refuse_own_families(self, families.items())
        return self


class Attr2HBase(Mapper[Attr2HBaseSettings]):
    """
    Write attributes to the cells that their names give.

    The attribute equal to the prefix is the row key. Every longer name with the prefix is a cell: the rest of the name
    is split at its first colon into family and qualifier. If one of them is missing, the cell goes to `sys_family`,
    with the rest as qualifier; without `sys_family` a name without a family is ignored, and `2hb_family:` has the empty
    qualifier. If a column occurs several times, the last cell
    wins: system cells come first, then the body, then attributes in their order. An event without cells is dropped as
    no_cells. A tombstone that reaches the sink (source option `tombstones: delete`) deletes its row.

    Source: Flume sink `attr2hbase`.
    """

    kind = "attr2hbase"
    examples = (
        Example(
            "two columns of one family",
            settings="{table: mytable}",
            attributes={"2hb_": "r1", "2hb_colfam:ts": "2238947398", "2hb_colfam:value": "56", "other": "x"},
        ),
        Example(
            "system cells, and an attribute without a family",
            settings="{table: mytable, sys_family: sys}",
            attributes={"2hb_": "r1", "2hb_any": "x"},
            host="h1",
        ),
    )

    def __init__(self, settings: Attr2HBaseSettings) -> None:
        super().__init__(settings)
        self._prefix = settings.attr_prefix
        self._sys_family = None if settings.sys_family is None else name_to_bytes(settings.sys_family)
        self._sys_columns = tuple((self._sys_family or b"") + name for name in (b":timestamp", b":host", b":priority"))
        self._body_column = None if settings.write_body is None else settings.write_body.encode()
        self._names = NameGuard(settings.families, settings.columns)
        self._columns = BoundedMemo(self._column_of, max_keys=_MAX_NAMES)
        self._mutation_of = mutation_maker(settings, settings.table, self._cells)

    def map(self, event: Event, batch_time_ms: int) -> tuple[Mapped] | Skipped:
        """One put or one delete of the event's row."""
        row = event.attributes.get(self._prefix)
        if row is None:
            if self.settings.on_missing_key is OnMissingKey.DROP:
                return _NO_ROW_KEY
            raise NoRowKeyError(
                f'no attribute "{self._prefix}" for the row key',
                hint="set `on_missing_key: drop` if this sink should skip such events",
            )
        return self._mutation_of(row, event, batch_time_ms)

    def _cells(self, event: Event) -> dict[bytes, bytes]:
        cells: dict[bytes, bytes] = {}
        if self._sys_family is not None:
            time, host, priority = self._sys_columns
            cells[time] = time_bytes(event.timestamp_ms)
            cells[host] = name_to_bytes(event.host)
            cells[priority] = PRIORITY_BYTES[event.priority]
        if self._body_column is not None and event.body:
            cells[self._body_column] = event.body
        columns = self._columns.known
        for name, value in event.attributes.items():
            try:
                column = columns[name]
            except KeyError:
                column = self._columns[name]
            if column:
                cells[column] = value
        return cells

    def _column_of(self, name: str) -> bytes:
        """The column of an attribute; b"" if it is not a cell."""
        if not name.startswith(self._prefix) or name == self._prefix:
            return b""
        rest = name_to_bytes(name.removeprefix(self._prefix))
        family, colon, qualifier = rest.partition(b":")
        if not family or not colon or (self._sys_family and not qualifier):
            family, qualifier = self._sys_family or b"", rest
        return self._names.column(family, qualifier) if family else b""
