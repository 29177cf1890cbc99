"""The outputs of a dry run, as plain data for JSON."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from ingest.api import Delete, Durability, Event, EventError, Put, split_column
from ingest.api.notation import from_notation, name_to_bytes, to_notation
from ingest.formats.column_types import ColumnTypes

Line = dict[str, object]
"""One line of `explain --output json`, as plain data."""

_LEAST, _MOST = -(2**63), 2**63 - 1  # integers that the JSON library can write


@dataclass(frozen=True, slots=True)
class Output:
    """
    The outcome of one event.

    Attributes:
        line: as `explain --output json` prints it.
        came_out: whether the event passed the chain; its sinks may still have failed.
        component: name of the decorator or sink that dropped or failed the event; None if none did.
    """

    line: Line
    came_out: bool
    component: str | None = None

    def to_json(self) -> bytes:
        """The line as JSON, without a newline."""
        return orjson.dumps(self.line)


def output_of(  # noqa: PLR0913 - the keys of a line
    number: int,
    outcome: str,
    event: Line,
    *,
    reason: str | None = None,
    steps: Sequence[Line] = (),
    puts: Sequence[Line] | None = (),
    writes: Sequence[Line] = (),
    refusals: Sequence[tuple[str, EventError]] = (),
    error: EventError | None = None,
    component: str | None = None,
    came_out: bool = False,
) -> Output:
    """
    The output, with its keys in the order of printing; without puts and refusals if `puts` is None.

    Writes are those of sinks without a store, each as `Sink.dry_run` returns it.
    Refusals are the sinks that failed, each with its error; one of these is the error of the line.
    """
    line: Line = {"input": number, "outcome": outcome, "reason": reason, "event": event, "steps": list(steps)}
    if puts is not None:
        line["puts"] = list(puts)
        if writes:
            line["writes"] = list(writes)
        line["refusals"] = [
            {"sink": sink, "code": refusal.code, "message": _clean(str(refusal))} for sink, refusal in refusals
        ]
    line["error"] = (
        None if error is None else {"code": error.code, "message": _clean(str(error)), "decorator": component}
    )
    return Output(line, came_out, component)


def shown_event(event: Event) -> Line:
    """The parts of an event that decorators may change."""
    return {
        "body": to_notation(event.body),
        "attributes": {_shown_name(name): to_notation(value) for name, value in event.attributes.items()},
        "host": to_notation(name_to_bytes(event.host)),
        "priority": event.priority.value,
        "timestamp_ms": _number(event.timestamp_ms),
        "nanos": _number(event.nanos),
    }


def changed_by(before: Event, after: Event) -> Line:
    """What a decorator changed; a removed attribute is null."""
    fields = ("body", "host", "priority", "timestamp_ms", "nanos")
    new = shown_event(after)
    changed: Line = {name: new[name] for name in fields if getattr(after, name) != getattr(before, name)}
    attributes: dict[str, object] = {}
    for name, value in after.attributes.items():
        if before.attributes.get(name) != value:
            attributes[_shown_name(name)] = to_notation(value)
    for name in before.attributes:
        if name not in after.attributes:
            attributes[_shown_name(name)] = None
    if attributes:
        changed["attributes"] = attributes
    return changed


def shown_mutation(sink: str, store: str, table: str, mutation: Put | Delete, physical: bytes) -> Line:
    """
    A put with its cells in order, or a delete with what it deletes and no cells.

    `row` is the physical row key; `key` is the logical one, if it differs. Of a table with deferred updates, `row` is
    the logical one.
    """
    logical: Line = {} if physical == mutation.row else {"key": to_notation(mutation.row)}
    line: Line = {
        "sink": sink,
        "store": store,
        "table": table,
        "row": to_notation(physical),
        **logical,
        "wal": mutation.durability is not Durability.SKIP,
        "durability": mutation.durability.value,
        "timestamp_ms": mutation.timestamp_ms,
    }
    if isinstance(mutation, Put):
        split = sorted((*split_column(column), value) for column, value in mutation.columns.items())
        line["cells"] = [[to_notation(part or b"") for part in cell] for cell in split]
        return line
    line["cells"] = []
    if mutation.family is None:
        line["delete"] = "row"
    elif mutation.qualifier is None:
        line["delete"] = {"family": to_notation(mutation.family)}
    else:
        line["delete"] = {"column": to_notation(mutation.family + b":" + mutation.qualifier)}
    return line


def with_types(line: Line, types_of: Callable[[str, str], ColumnTypes]) -> Line:
    """
    A line whose cells are shown with the types of their columns.

    Args:
        line: of an `Output`.
        types_of: table and store -> the types of its columns.
    """
    puts = line.get("puts")
    if not isinstance(puts, list):
        return line
    return {**line, "puts": [_put_with_types(put, types_of(put["table"], put["store"])) for put in puts]}


def _put_with_types(put: Line, types: ColumnTypes) -> Line:
    cells = put["cells"]
    if not types or not isinstance(cells, list):
        return put
    shown = [
        [family, qualifier, types.plain(from_notation(family) + b":" + from_notation(qualifier), from_notation(value))]
        for family, qualifier, value in cells
    ]
    return {**put, "cells": shown}


def _shown_name(name: str) -> str:
    return key_of(name_to_bytes(name))


def key_of(name: bytes) -> str:
    """A name as the key of a JSON object, which is text; a name that is not UTF-8 becomes the JSON of its notation."""
    notation = to_notation(name)
    return notation if isinstance(notation, str) else json.dumps(notation, separators=(",", ":"))


def _clean(text: str) -> str:
    """Text with escapes for lone surrogates, which names that are not UTF-8 contain and JSON must not contain."""
    return text.encode("utf-8", "backslashreplace").decode()


def _number(number: int) -> object:
    """A number for JSON; nanos of a distant time have more than 64 bits, which the library cannot write."""
    return number if _LEAST <= number <= _MOST else orjson.Fragment(str(number))
