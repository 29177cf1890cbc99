"""The outputs of a dry run, as plain data for JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from ingest.api import EventError
from ingest.api.notation import from_notation
from ingest.formats.column_types import ColumnTypes
from ingest.formats.event_json import Line


@dataclass(frozen=True, slots=True)
class Output:
    """
    The outcome of one event.

    Attributes:
        line: as `explain --output json` prints it.
        came_out: whether the event passed the chain; its sinks may still have failed.
        component: name of the decorator or sink that dropped or failed the event; None if none did.
        own_times: of each put, whether its timestamp is not the batch time.
    """

    line: Line
    came_out: bool
    component: str | None = None
    own_times: Sequence[bool] = ()

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
    own_times: Sequence[bool] = (),
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
    return Output(line, came_out, component, own_times)


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


def _clean(text: str) -> str:
    """Text with escapes for lone surrogates, which names that are not UTF-8 contain and JSON must not contain."""
    return text.encode("utf-8", "backslashreplace").decode()
