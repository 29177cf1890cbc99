"""What a change of a pipeline does to events: the outcomes of two dry runs and what they write, compared."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby, islice, zip_longest
from typing import Any, NamedTuple

from ingest.api.notation import from_notation, readable, to_notation
from ingest.config.test_cases import Given
from ingest.dry_run.shown import Output
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from ingest.formats.event_json import Line

TypesOf = Callable[[str, str], ColumnTypes]
"""Table and store -> the types with which its values are shown."""


_AS_THEY_ARE: Mapping[str, str] = {}


class Change(StrEnum):
    """What happened to a row or a cell."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class EventOutcome(NamedTuple):
    """
    What became of one event.

    Attributes:
        outcome: `kept`, `dropped`, `failed`, or `stops` for one that stops the pipeline.
        component: name of the decorator or sink that dropped or failed it; `source` if it was not decoded, `sinks` if
            none of them stores it.
        reason: of the drop, or the code of the error.
    """

    outcome: str
    component: str = ""
    reason: str = ""

    @classmethod
    def of(cls, output: Output, names: Mapping[str, str] = _AS_THEY_ARE) -> "EventOutcome":
        """The outcome of an output of a dry run; of components that `names` has, with other names."""
        line: Mapping[str, Any] = output.line
        if line["outcome"] == "kept":
            return cls("kept")
        stops = line["outcome"] == "failed" and line["reason"] == "stop"
        error = line["error"]
        reason = line["reason"] if error is None else error["code"]
        component = output.component or ("sinks" if output.came_out else "source")
        return cls("stops" if stops else line["outcome"], names.get(component, component), reason)

    def to_json(self) -> dict[str, str]:
        """The same as plain data."""
        return self._asdict()


class _Row(NamedTuple):
    """A row of a table, or what a sink without a store writes for one event."""

    store: str
    table: str
    key: bytes


class _Cell(NamedTuple):
    """
    What is written to a row.

    Attributes:
        kind: `cell`, `value` of a sink without a store, what is deleted: `row`, `family` or `column`; or `order`, which
            stands for the order of the writes of a row.
        family: or the name of the value, or of what is deleted.
        qualifier: of a cell.
    """

    kind: str
    family: bytes = b""
    qualifier: bytes = b""


class _Write(NamedTuple):
    """
    One write of a cell: its value, with a type if a sink without a store has given it one; None for a delete.

    Attributes:
        ttl_ms: None for a cell that lives as long as its family says.
    """

    value: object
    timestamp_ms: int | None = None
    ttl_ms: int | None = None


_ORDER = _Cell("order")
_DELETES = frozenset(("row", "family", "column"))


@dataclass(slots=True)
class Results:
    """
    What a dry run has done with events.

    Attributes:
        outcomes: number of an input -> its outcomes; several if a decorator makes several events of it.
        messages: of errors.
        rows: row -> cell -> its writes, in order.
        orders: row with a delete -> the cells in the order in which they are written, sorted between two deletes.
        first_inputs: row -> number of the first input that writes it.
        logical: the logical key of those rows whose physical one differs.
    """

    outcomes: dict[int, Counter[EventOutcome]] = field(default_factory=lambda: defaultdict(Counter))
    messages: dict[tuple[int, EventOutcome], str] = field(default_factory=dict)
    rows: dict[_Row, dict[_Cell, list[_Write]]] = field(default_factory=dict)
    orders: dict[_Row, list[_Cell]] = field(default_factory=dict)
    first_inputs: dict[_Row, int] = field(default_factory=dict)
    logical: dict[_Row, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, outputs: Iterable[Output], names: Mapping[str, str] = _AS_THEY_ARE) -> "Results":
        """
        The results of the outputs of a run.

        Args:
            outputs: of the events.
            names: of decorators and sinks in the results, by the names in the run; only those that differ are needed.
        """
        found = cls()
        for output in outputs:
            found._add(output, names)
        found.orders = {
            row: _between_deletes(cells)
            for row, cells in found.orders.items()
            if any(cell.kind in _DELETES for cell in found.rows[row])
        }
        return found

    def _add(self, output: Output, names: Mapping[str, str]) -> None:
        line: Mapping[str, Any] = output.line
        number, outcome = line["input"], EventOutcome.of(output, names)
        self.outcomes[number][outcome] += 1
        if line["error"] is not None:
            self.messages[number, outcome] = line["error"]["message"]
        for put in line.get("puts", ()):
            row = _Row(put["store"], put["table"], from_notation(put["row"]))
            if "key" in put:
                self.logical[row] = from_notation(put["key"])
            for cell, value in _cells_of(put):
                self._write(number, row, cell, _Write(value, put["timestamp_ms"], put.get("ttl_ms")))
        for write in line.get("writes", ()):
            part = self.outcomes[number].total()
            sink = names.get(write["sink"], write["sink"])
            row = _Row("", sink, f"event {number}{f', part {part}' if part > 1 else ''}".encode())
            for name, value in _values_of(write):
                self._write(number, row, _Cell("value", name.encode()), _Write(value))

    def _write(self, number: int, row: _Row, cell: _Cell, write: _Write) -> None:
        self.first_inputs.setdefault(row, number)
        self.rows.setdefault(row, {}).setdefault(cell, []).append(write)
        self.orders.setdefault(row, []).append(cell)


@dataclass(frozen=True, slots=True)
class Diff:
    """
    The difference between two runs of the same events.

    Attributes:
        given: the events.
        old, new: the results of the runs.
    """

    given: tuple[Given, ...]
    old: Results
    new: Results

    @property
    def differs(self) -> bool:
        """Whether an event has another outcome, or something else is written."""
        old, new = self.old, self.new
        return old.outcomes != new.outcomes or old.rows != new.rows or old.orders != new.orders

    def to_json(self, limit: int | None, old_types: TypesOf, new_types: TypesOf) -> dict[str, Any]:
        """
        The difference as plain data.

        Args:
            limit: most rows of a table, and events of a transition; None for all. The numbers count all.
            old_types: with which old values are shown.
            new_types: with which new values are shown.
        """
        return {
            "events": len(self.given),
            "differs": self.differs,
            "outcomes": list(self._outcomes()),
            "transitions": list(self._transitions(limit)),
            "tables": list(self._tables(limit, old_types, new_types)),
        }

    def _outcomes(self) -> Iterator[dict[str, Any]]:
        before, after = (_totals(results) for results in (self.old, self.new))
        for outcome in sorted(before.keys() | after.keys(), key=_kept_first):
            yield {**outcome.to_json(), "old": before[outcome], "new": after[outcome]}

    def _transitions(self, limit: int | None) -> Iterator[dict[str, Any]]:
        """Outcomes of events in place of others, the most frequent first."""
        found: dict[tuple[EventOutcome | None, EventOutcome | None], list[int]] = {}
        for number in range(len(self.given)):
            before, after = (results.outcomes.get(number, Counter()) for results in (self.old, self.new))
            lost, gained = (sorted(each.elements(), key=_kept_first) for each in (before - after, after - before))
            for pair in zip_longest(lost, gained):
                found.setdefault(pair, []).append(number)
        for (old, new), numbers in sorted(found.items(), key=lambda item: -len(item[1])):
            yield {
                "old": None if old is None else old.to_json(),
                "new": None if new is None else new.to_json(),
                "events": len(numbers),
                "examples": [self._example(number, old, new) for number in islice(dict.fromkeys(numbers), limit)],
            }

    def _example(self, number: int, old: EventOutcome | None, new: EventOutcome | None) -> dict[str, Any]:
        given = self.given[number]
        place = given if given.record is None else given.record
        return {
            "input": number,
            "topic": place.topic,
            "partition": place.partition,
            "offset": place.offset,
            "old_message": None if old is None else self.old.messages.get((number, old)),
            "new_message": None if new is None else self.new.messages.get((number, new)),
        }

    def _tables(self, limit: int | None, old_types: TypesOf, new_types: TypesOf) -> Iterator[dict[str, Any]]:
        places = dict.fromkeys((row.store, row.table) for row in (*self.old.rows, *self.new.rows))
        rows: dict[tuple[str, str], list[_Row]] = {place: [] for place in sorted(places)}
        for row in self.old.rows.keys() | self.new.rows.keys():
            if any(self._cells(row)):
                rows[row.store, row.table].append(row)
        for (store, table), changed in rows.items():
            changed.sort(key=lambda row: (self._first_input(row), row))
            counts: dict[str, Counter[str]] = {"rows": Counter(), "cells": Counter()}
            for row in changed:
                counts["rows"][self._change(row)] += 1
                counts["cells"].update(change for cell, change, _, _ in self._cells(row) if cell is not _ORDER)
            types = old_types(table, store), new_types(table, store)
            yield {
                "store": store,
                "table": table,
                **{what: {change.value: number[change] for change in Change} for what, number in counts.items()},
                "changed_rows": [self._row(row, *types) for row in islice(changed, limit)],
            }

    def _first_input(self, row: _Row) -> int:
        return min(each.first_inputs[row] for each in (self.old, self.new) if row in each.first_inputs)

    def _change(self, row: _Row) -> Change:
        return _change(row in self.old.rows, row in self.new.rows)

    def _cells(self, row: _Row) -> Iterator[tuple[_Cell, Change, list[_Write], list[_Write]]]:
        """Those that differ, or the order of the same writes, if it differs around a delete."""
        before, after = self.old.rows.get(row, {}), self.new.rows.get(row, {})
        if before != after:
            for cell in sorted(before.keys() | after.keys()):
                if before.get(cell) != after.get(cell):
                    yield cell, _change(cell in before, cell in after), before.get(cell, []), after.get(cell, [])
            return
        old, new = (results.orders.get(row, []) for results in (self.old, self.new))
        if old != new:
            yield _ORDER, Change.CHANGED, [_Write(_in_order(old))], [_Write(_in_order(new))]

    def _row(self, row: _Row, old_types: ColumnTypes, new_types: ColumnTypes) -> dict[str, Any]:
        logical = self.old.logical.get(row) or self.new.logical.get(row)
        return {
            "row": to_notation(row.key),
            **({} if logical is None else {"key": to_notation(logical)}),
            "change": self._change(row).value,
            "input": self._first_input(row),
            "cells": [
                {
                    **_named(cell),
                    "change": change.value,
                    "old": _shown(cell, before, old_types),
                    "new": _shown(cell, after, new_types),
                }
                for cell, change, before, after in self._cells(row)
            ],
        }


def types_as_bytes(_table: str, _store: str) -> ColumnTypes:
    """No column has a type."""
    return AS_BYTES


def _between_deletes(cells: list[_Cell]) -> list[_Cell]:
    """The cells in the order of writing, of which that between two deletes makes no difference."""
    groups = groupby(cells, lambda cell: cell.kind in _DELETES)
    return [cell for is_delete, some in groups for cell in (some if is_delete else sorted(some))]


def _in_order(cells: list[_Cell]) -> str:
    """The writes of a row as text."""
    return ", ".join(
        readable(b":".join(cell[1:])) if cell.kind == "cell" else f"delete {cell.kind} {readable(cell.family)}".strip()
        for cell in cells
    )


def _cells_of(put: Line) -> Iterator[tuple[_Cell, object]]:
    """What a mutation writes, with its value."""
    if "delete" in put:
        deleted = put["delete"]
        kind, name = next(iter(deleted.items())) if isinstance(deleted, dict) else (str(deleted), "")
        yield _Cell(kind, from_notation(name)), None
    cells = put["cells"]
    for family, qualifier, value in cells if isinstance(cells, list) else ():
        yield _Cell("cell", from_notation(family), from_notation(qualifier)), from_notation(value)


def _values_of(write: Line) -> Iterator[tuple[str, object]]:
    """The names and values of what a sink without a store writes: where, and the columns of the row."""
    for name, value in write.items():
        if isinstance(value, dict) and value.keys() != {"b64"}:
            yield from value.items()
        elif name != "sink":
            yield name, value


def _totals(results: Results) -> Counter[EventOutcome]:
    total: Counter[EventOutcome] = Counter()
    for outcomes in results.outcomes.values():
        total.update(outcomes)
    return total


def _kept_first(outcome: EventOutcome) -> tuple[bool, EventOutcome]:
    return outcome.outcome != "kept", outcome


def _change(is_old: bool, is_new: bool) -> Change:  # noqa: FBT001 - the two sides
    return Change.CHANGED if is_old and is_new else Change.ADDED if is_new else Change.REMOVED


def _named(cell: _Cell) -> Line:
    match cell.kind:
        case "cell":
            return {"family": to_notation(cell.family), "qualifier": to_notation(cell.qualifier)}
        case "value":
            return {"name": to_notation(cell.family)}
        case "row":
            return {"delete": "row"}
        case "order":
            return {"order": "writes"}
        case kind:
            return {"delete": {kind: to_notation(cell.family)}}


def _shown(cell: _Cell, writes: list[_Write], types: ColumnTypes) -> Line | None:
    """The last write of a cell, and how many there are."""
    if not writes:
        return None
    last = writes[-1]
    value = last.value
    if isinstance(value, bytes):
        value = types.plain(cell.family + b":" + cell.qualifier, value)
    ttl: Line = {} if last.ttl_ms is None else {"ttl_ms": last.ttl_ms}
    return {"value": value, "timestamp_ms": last.timestamp_ms, **ttl, "writes": len(writes)}
