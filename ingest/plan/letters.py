"""Keeps large values of records that fail, in a task."""

from ingest.plan.creating import create
from ingest.plan.plan import Plan
from sinks.bodies.letters import LetterSink, StagedLetters, StoredLetters


def letter_sink(plan: Plan) -> LetterSink | None:
    """What keeps large values of records that fail, in a task; None if dead letters contain them."""
    if plan.letters is None or not plan.has_letters:
        return None
    store = create(plan.stores[plan.letters.store])
    if store.capabilities.written_by_driver:
        return StagedLetters(plan.letters)
    return StoredLetters(plan.letters, store)
