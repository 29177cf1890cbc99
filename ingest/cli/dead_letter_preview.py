"""The dry run of `ingest dead-letters replay`."""

from typing import TYPE_CHECKING

from ingest.amounts import counts_of
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration, Pipeline
    from ingest.dead_letters.queue import DeadLetterQueue
    from ingest.dead_letters.replay import Selection


def show_preview(
    out: Output,
    configuration: "Configuration",
    catalog: "Catalog",
    pipeline: "Pipeline",
    queue: "DeadLetterQueue",
    selection: "Selection",
) -> int:
    """Print what a replay of selected dead letters would do; returns their number."""
    from ingest.dry_run.dead_letters import preview
    from ingest.plan.assemble import plan_of
    from ingest.service.dead_letters.queues import components_of

    plan = plan_of(configuration, pipeline, catalog)
    selected = filter(selection.matches, queue.entries())
    found = preview(plan, configuration.tables.values(), selected, components_of(plan))
    if out.is_json:
        about = {"selected": found.selected, "stored": found.stored, "dropped": dict(found.dropped)}
        out.json(about | {"failed_again": dict(found.failed_again), "unknown": found.unknown})
        return found.selected
    failed, dropped = found.failed_again, found.dropped
    numbers = (found.selected, found.stored, dropped.total(), failed.total(), found.unknown)
    columns = ("#selected", "#would be stored", "#dropped", "#would fail again", "#not known")
    out.table(columns, [tuple(f"{number:,}" for number in numbers)])
    if failed:
        out.note(f"would fail again: {counts_of(failed)}", "yellow")
    if dropped:
        out.note(f"would be dropped by the pipeline: {counts_of(dropped)}", "yellow")
    if found.unknown:
        out.note("not known: dead letters without the bytes of their records, which only a replay reads", "yellow")
    return found.selected
