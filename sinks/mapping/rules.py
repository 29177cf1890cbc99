"""Rules: which events skip the write-ahead log, and which ones delete."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.api import Delete, Event
from sinks.mapping.mapper import Rule


class DeleteTarget(NamedTuple):
    """What a rule deletes; without a family the whole row, without a qualifier the whole family."""

    family: bytes | None = None
    qualifier: bytes | None = None

    def delete(self, row: bytes, timestamp_ms: int, *, wal: bool) -> Delete:
        """The delete for one row."""
        return Delete(row, timestamp_ms, self.family, self.qualifier, wal)


WHOLE_ROW = DeleteTarget()


class Action(NamedTuple):
    """The action for an event: a write with or without the log, or a delete."""

    wal: bool
    target: DeleteTarget | None = None


def compile_rules(rules: Sequence[Rule], *, write_to_wal: bool) -> Callable[[Event], Action] | None:
    """Event -> action, by the first rule that holds; None if there are no rules."""
    if not rules:
        return None
    compiled = [
        (rule.when.holds, Action(write_to_wal if rule.write_to_wal is None else rule.write_to_wal, _target(rule)))
        for rule in rules
    ]
    default = Action(write_to_wal)

    def action_of(event: Event) -> Action:
        for holds, found in compiled:
            if holds(event):
                return found
        return default

    return action_of


def _target(rule: Rule) -> DeleteTarget | None:
    match rule.delete:
        case None:
            return None
        case {"family": family}:
            return DeleteTarget(family.encode())
        case {"column": column}:
            name, _, qualifier = column.partition(":")
            return DeleteTarget(name.encode(), qualifier.encode())
        case _:
            return WHOLE_ROW
