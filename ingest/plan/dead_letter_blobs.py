"""Keeps large values of records that fail, in a task."""

from ingest.plan.creating import create
from ingest.plan.plan import Plan
from sinks.blobs.dead_letters import DeadLetterSink, StagedDeadLetters, StoredDeadLetters


def dead_letter_sink(plan: Plan) -> DeadLetterSink | None:
    """What keeps large values of records that fail, in a task; None if dead letters contain them."""
    if plan.dead_letter_blobs is None or not plan.publishes_dead_letters:
        return None
    store = create(plan.stores[plan.dead_letter_blobs.store])
    if store.capabilities.written_by_driver:
        return StagedDeadLetters(plan.dead_letter_blobs)
    return StoredDeadLetters(plan.dead_letter_blobs, store)
