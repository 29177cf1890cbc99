"""Compares the expectations of a test with the outputs of a run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.api.notation import from_notation
from ingest.config.test_cases import Expect
from ingest.dry_run.shown import Output
from ingest.formats.event_json import Line, key_of


@dataclass(frozen=True, slots=True)
class Difference:
    """
    A difference between an expectation and the outputs.

    Attributes:
        path: keys and indexes, from `expect`.
        expected: the expected value; None for an output that is not expected.
        actual: the actual value; None if there is none.
    """

    path: tuple[str | int, ...]
    expected: object
    actual: object


def differences(expect: Expect, outputs: Sequence[Output]) -> Iterator[Difference]:
    """Differences in counts and in the length of lists, and in those fields of events and puts that the test names."""
    outcomes = Counter(output.line["outcome"] for output in outputs)
    for outcome, count in (("kept", expect.kept), ("failed", expect.failed)):
        if count is not None and count != outcomes[outcome]:
            yield Difference((outcome,), count, outcomes[outcome])
    reasons = Counter(str(output.line["reason"]) for output in outputs if output.line["outcome"] == "dropped")
    if expect.dropped is not None:
        for reason in expect.dropped or reasons:
            count = expect.dropped.get(reason, 0)
            if count != reasons[reason]:
                yield Difference(("dropped", reason), count, reasons[reason])
    if expect.events is not None:
        yield from _in_list("events", expect.events, [output.line["event"] for output in outputs if output.came_out])
    if expect.puts is not None:
        yield from _in_list("puts", expect.puts, puts_of(outputs))
    if expect.writes is not None:
        yield from _in_list("writes", expect.writes, writes_of(outputs))


def puts_of(outputs: Sequence[Output]) -> list[Line]:
    """The puts of all events, with their cells by column as in a test."""
    puts: list[Line] = []
    for output in outputs:
        found = output.line.get("puts")
        puts.extend(map(_with_cells_by_name, found) if isinstance(found, list) else ())
    return puts


def writes_of(outputs: Sequence[Output]) -> list[Line]:
    """What sinks without a store write for all events."""
    found: list[Line] = []
    for output in outputs:
        lines = output.line.get("writes")
        found.extend(lines if isinstance(lines, list) else ())
    return found


def _in_list(name: str, expected: Sequence[Any], actual: Sequence[object]) -> Iterator[Difference]:
    plain = [each if isinstance(each, dict) else each.model_dump(exclude_unset=True) for each in expected]
    for index in range(max(len(plain), len(actual))):
        if index >= len(plain):
            yield Difference((name, index), None, actual[index])
        elif index >= len(actual):
            yield Difference((name, index), plain[index], None)
        else:
            yield from _within((name, index), plain[index], _with_key(actual[index]))


def _with_key(item: object) -> object:
    """A put with `key`, which its line has only if it differs from `row`; an event as it is."""
    return {"key": item["row"], **item} if isinstance(item, dict) and "row" in item else item


def _within(path: tuple[str | int, ...], expected: object, actual: object) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() != {"b64"}:
        for key, value in expected.items():
            yield from _within((*path, key), value, actual.get(key))
    elif _comparable(expected) != _comparable(actual):
        yield Difference(path, expected, actual)


def _comparable(value: object) -> object:
    """Text and `{b64: …}` of the same bytes are equal."""
    is_notation = isinstance(value, str) or (isinstance(value, dict) and value.keys() == {"b64"})
    return from_notation(value) if is_notation else value


def _with_cells_by_name(put: Line) -> Line:
    cells = put["cells"]
    by_name = {}
    for family, qualifier, value in cells if isinstance(cells, list) else ():
        by_name[key_of(from_notation(family) + b":" + from_notation(qualifier))] = value
    return {**put, "cells": by_name}
