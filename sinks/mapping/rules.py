"""Exceptions by condition: which events skip the write-ahead log, and which ones delete."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.api import Delete, Event
from sinks.mapping.mapper import Rule


class Target(NamedTuple):
    """What a rule deletes; no family stands for the whole row, no qualifier for the whole family."""

    family: bytes | None = None
    qualifier: bytes | None = None

    def delete(self, row: bytes, timestamp_ms: int, *, wal: bool) -> Delete:
        """The deletion in one row."""
        return Delete(row, timestamp_ms, self.family, self.qualifier, wal)


WHOLE_ROW = Target()


class Treatment(NamedTuple):
    """What is done with an event: written with or without the log, or deleted."""

    wal: bool
    target: Target | None = None


def treatment_of(rules: Sequence[Rule], *, write_to_wal: bool) -> Callable[[Event], Treatment] | None:
    """How events are treated, by the first rule that holds; None when there are no rules."""
    if not rules:
        return None
    compiled = [
        (rule.when.holds, Treatment(write_to_wal if rule.write_to_wal is None else rule.write_to_wal, _target(rule)))
        for rule in rules
    ]
    otherwise = Treatment(write_to_wal)

    def treatment(event: Event) -> Treatment:
        for holds, found in compiled:
            if holds(event):
                return found
        return otherwise

    return treatment


def _target(rule: Rule) -> Target | None:
    match rule.delete:
        case None:
            return None
        case {"family": family}:
            return Target(family.encode())
        case {"column": column}:
            name, _, qualifier = column.partition(":")
            return Target(name.encode(), qualifier.encode())
        case _:
            return WHOLE_ROW
