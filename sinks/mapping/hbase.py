"""Cells listed in the options: family, qualifier, value and encoding of each."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple, Self

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Event, Example, ExpressionError, Finding, MappingError, Model, OptionPath, option
from ingest.api.event_errors import NoAttributeError
from ingest.api.notation import name_from_bytes
from ingest.decorating.choices import OnMissing
from ingest.decorating.names import BoundedMemo
from ingest.expressions import Template
from sinks.mapping.encodings import ENCODERS, Encode, Encoding
from sinks.mapping.guards import NameGuard, NoRowKeyError, check_row_key, refuse_own_families
from sinks.mapping.mapper import Mapped, Mapper, MapperSettings, Skipped, constant_text
from sinks.mapping.mutations import mutation_maker
from sinks.mapping.tables import TableTemplate

_MAX_NAMES = 20_000  # cached columns of a cell; a bound, since names come from the data
_NO_ROW_KEY = Skipped(NoRowKeyError.code)


class OnMissingInKey(StrEnum):
    """The action if the event lacks an attribute of the row key."""

    ERROR = "error"
    DROP = "drop"
    EMPTY = "empty"


class RowKey(Model):
    """The row that an event goes to."""

    template: Template = option("Template of the row key.", example="%{key}-%{nanos}")
    on_missing: OnMissingInKey = option(
        "If the event lacks an attribute of the template: the event fails (`error`), is dropped as no_row_key "
        "(`drop`), or the attribute is `empty` text, so many events may be written to one row.",
        default="error",
        strict=False,
    )

    @field_validator("template")
    @classmethod
    def _constant_key_fits(cls, template: Template) -> Template:
        if template.constant is not None:
            try:
                check_row_key(template.constant)
            except MappingError as error:
                raise PydanticCustomError("out_of_range", "{why}", {"why": error.message}) from error
        return template


class CellOptions(Model):
    """One cell of the row."""

    family: Template = option("Template of the column family.", example="m")
    qualifier: Template = option("Template of the qualifier, which may be empty.", example="value")
    value: Template = option("Template of the value.", example="%{body}")
    encoding: Encoding = option(
        "Encoding of the value: its bytes as they are (`utf8`; `raw` if they are not text), a big-endian number of 4 "
        "or 8 bytes (`int32`, `int64`, `float64`), a type of Apache Phoenix (`phoenix_bigint` …, see the guide to "
        "encodings), or the bytes that it encodes (`hex`, `base64`).",
        default="utf8",
        strict=False,
    )
    on_missing: OnMissing = option(
        "If the event lacks an attribute of a template: the attribute is `empty` text, the cell is left out "
        "(`unset`), or the event fails (`error`).",
        default="empty",
        strict=False,
    )

    @model_validator(mode="after")
    def _constant_value_fits(self) -> Self:
        encode = ENCODERS[self.encoding]
        if encode is not None and self.value.constant is not None:
            try:
                encode(self.value.constant)
            except ExpressionError as error:
                raise PydanticCustomError("wrong_type", "{why}", {"why": error.message, "option": "value"}) from error
        return self


class HBaseSinkSettings(MapperSettings):
    """Options of the hbase sink."""

    table: TableTemplate = option("Table that events go to; a template.", example="metrics")
    row_key: RowKey = option("The row that an event goes to.", example={"template": "%{host}/%{timestamp}"})
    cells: list[CellOptions] = option(
        "The cells of the row; if a column occurs several times, the last cell wins.",
        example=[{"family": "m", "qualifier": "value", "value": "%{body}"}],
        min_length=1,
    )

    @field_validator("row_key", mode="before")
    @classmethod
    def _not_the_template_alone(cls, row_key: object) -> object:
        if isinstance(row_key, str):
            hint = {"hint": 'write row_key: {template: "…"}'}
            raise PydanticCustomError("wrong_type", "row_key must be a mapping, not the template alone", hint)
        return row_key

    @property
    def table_template(self) -> Template:
        """The option `table`."""
        return self.table

    def row_key_template(self) -> tuple[OptionPath, frozenset[str]]:
        """The template of `row_key`."""
        return ("row_key", "template"), self.row_key.template.references

    def named_families(self) -> Iterator[tuple[OptionPath, str]]:
        """Also those of the cells, if they are the same for every event."""
        for index, cell in enumerate(self.cells):
            if family := constant_text(cell.family):
                yield ("cells", index, "family"), family
        yield from super().named_families()

    def findings(self) -> Iterator[Finding]:
        """Also warns of cells that a later one always replaces."""
        yield from super().findings()
        later: dict[tuple[str, str], int] = {}
        for index, cell in reversed(list(enumerate(self.cells))):
            family, qualifier = constant_text(cell.family), constant_text(cell.qualifier)
            if family is None or qualifier is None:
                continue
            if (family, qualifier) in later:
                message = f'the cell "{family}:{qualifier}" is always replaced by a later one of the same column'
                see = ("cells", later[family, qualifier], "family")
                path = ("cells", index, "family")
                yield Finding(path, message, kind="replaced_cell", is_error=False, see=see)
            elif cell.on_missing is not OnMissing.UNSET:
                later[family, qualifier] = index

    @property
    def own_families(self) -> frozenset[bytes]:
        """The families that are the same for every event."""
        return frozenset(cell.family.constant for cell in self.cells if cell.family.constant is not None)

    @model_validator(mode="after")
    def _own_families_are_allowed(self) -> Self:
        families = {
            ("cells", index, "family"): cell.family.constant
            for index, cell in enumerate(self.cells)
            if cell.family.constant is not None
        }
        refuse_own_families(self, families.items())
        return self


_Names = tuple[bytes, bytes]
_NO_NAMES = (b"", b"")


class _Cell(NamedTuple):
    """
    A cell of the options, compiled.

    Attributes:
        column: if it is the same for every event, else b"".
        names_of: event -> family and qualifier, or None if the event has no such cell; None with a constant column.
        column_of: family and qualifier -> column.
        value_of: event -> value; None if the event has no such cell.
        encode: encoder of the value; None to write it unchanged.
        name: for messages.
    """

    column: bytes
    names_of: Callable[[Event], _Names | None] | None
    column_of: Callable[[_Names], bytes]
    value_of: Callable[[Event], bytes | None]
    encode: Encode | None
    name: str


class HBase(Mapper[HBaseSinkSettings]):
    """
    Write the cells that the options list.

    Row key, families, qualifiers and values are templates; every event becomes one row with the same cells, whatever
    other attributes it has. An event fails if a value cannot be encoded, such as text as `int64`. Templates insert
    bytes unchanged. A tombstone that reaches the sink (source option `tombstones: delete`) deletes its row.

    Source: Flume sink `hbase`.
    """

    kind = "hbase"
    examples = (
        Example(
            "a number and a text",
            settings=(
                "{table: metrics, row_key: {template: '%{host}/%{timestamp}'}, cells: ["
                "{family: m, qualifier: load, value: '%{load}', encoding: float64}, "
                "{family: m, qualifier: line, value: '%{body}'}]}"
            ),
            body="load average: 0.25",
            attributes={"load": "0.25"},
            host="web-1",
            timestamp_ms=1308748686334,
        ),
        Example(
            "a row of a Phoenix table, with its empty column `_0`",
            settings=(
                "{table: METRICS, row_key: {template: '%{host}'}, cells: ["
                "{family: '0', qualifier: RX, value: '%{rx}', encoding: phoenix_bigint}, "
                "{family: '0', qualifier: _0, value: x}]}"
            ),
            attributes={"rx": "-2"},
            host="web-1",
        ),
        Example(
            "a column named by the event; without a unit there is no such cell",
            settings=(
                "{table: metrics, row_key: {template: '%{key}'}, cells: ["
                "{family: m, qualifier: '%{name}', value: '%{body}', encoding: int64}, "
                "{family: m, qualifier: unit, value: '%{unit}', on_missing: unset}]}"
            ),
            body="42",
            attributes={"name": "requests"},
            key="web-1",
        ),
    )

    def __init__(self, settings: HBaseSinkSettings) -> None:
        super().__init__(settings)
        key = settings.row_key
        self._row_of = key.template.renderer(key.on_missing, _no_row_key)
        names = NameGuard(settings.families, settings.columns)
        self._compiled_cells = tuple(_compiled(cell, names) for cell in settings.cells)
        self._mutation_of = mutation_maker(settings, settings.table, self._cells)

    def map(self, event: Event, batch_time_ms: int) -> tuple[Mapped] | Skipped:
        """One put or one delete of the event's row."""
        row = self._row_of(event)
        return _NO_ROW_KEY if row is None else self._mutation_of(row, event, batch_time_ms)

    def _cells(self, event: Event) -> dict[bytes, bytes]:
        cells: dict[bytes, bytes] = {}
        for column, names_of, column_of, value_of, encode, name in self._compiled_cells:
            names = _NO_NAMES if names_of is None else names_of(event)
            value = None if names is None else value_of(event)
            if names is None or value is None:
                continue
            if encode is not None:
                try:
                    value = encode(value)
                except ExpressionError as error:
                    hint = None if value else "set `on_missing: unset` if some events lack it"
                    raise MappingError(f"the cell {name}: {error.message}", code=error.code, hint=hint) from error
            cells[column or column_of(names)] = value
        return cells


def _no_row_key(what: str) -> MappingError:
    return NoRowKeyError(
        f"no {what} for the row key",
        hint="set `on_missing: drop` if this sink should skip such events",
    )


def _compiled(cell: CellOptions, names: NameGuard) -> _Cell:
    family, qualifier, value = cell.family.constant, cell.qualifier.constant, cell.value.constant
    name = f'"{_shown(cell.family)}:{_shown(cell.qualifier)}"'

    def no_attribute(missing: str) -> MappingError:
        return MappingError(
            f"no {missing} for the cell {name}",
            code=NoAttributeError.code,
            hint="set `on_missing: unset` if some events lack it",
        )

    family_of, qualifier_of, value_of = (
        template.renderer(cell.on_missing, no_attribute) for template in (cell.family, cell.qualifier, cell.value)
    )
    encode = ENCODERS[cell.encoding]
    if value is not None and encode is not None:
        prepared = encode(value)
        encode, value_of = None, lambda _event: prepared
    column_of = _column_of(names)
    if family is not None and qualifier is not None:
        return _Cell(family + b":" + qualifier, None, column_of, value_of, encode, name)

    def names_of(event: Event) -> _Names | None:
        family = family_of(event)
        qualifier = None if family is None else qualifier_of(event)
        return None if family is None or qualifier is None else (family, qualifier)

    return _Cell(b"", names_of, column_of, value_of, encode, name)


def _shown(template: Template) -> str:
    """For messages; not the template itself, since it may contain a secret."""
    return "…" if template.constant is None else name_from_bytes(template.constant)


def _column_of(names: NameGuard) -> Callable[[_Names], bytes]:
    columns = BoundedMemo[_Names, bytes](lambda pair: names.column(*pair), max_keys=_MAX_NAMES)
    known = columns.known

    def column_of(pair: _Names) -> bytes:
        try:
            return known[pair]
        except KeyError:
            return columns[pair]

    return column_of
