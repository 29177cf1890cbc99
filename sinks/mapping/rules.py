"""Rules: which events have a durability of their own, and which ones delete."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.api import Delete, Durability, Event
from sinks.mapping.mapper import Rule


class DeleteTarget(NamedTuple):
    """What a rule deletes; without a family the whole row, without a qualifier the whole family."""

    family: bytes | None = None
    qualifier: bytes | None = None

    def delete(self, row: bytes, timestamp_ms: int, durability: Durability) -> Delete:
        """The delete for one row."""
        return Delete(row, timestamp_ms, self.family, self.qualifier, durability)


WHOLE_ROW = DeleteTarget()


class Action(NamedTuple):
    """The action for an event: a write, or a delete."""

    durability: Durability
    target: DeleteTarget | None = None


def compile_rules(rules: Sequence[Rule], durability: Durability) -> Callable[[Event], Action] | None:
    """
    Event -> action, by the first rule that holds; None if there are no rules.

    Args:
        rules: of a sink.
        durability: of rows for which no rule names one.
    """
    if not rules:
        return None
    compiled = [(rule.when.holds, Action(rule.row_durability or durability, _target(rule))) for rule in rules]
    default = Action(durability)

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
