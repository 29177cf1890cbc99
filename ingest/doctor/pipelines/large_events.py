"""Warnings about `max_event_bytes`: the memory of the tasks, and the dead letters of large events."""

from collections.abc import Iterator

from ingest.amounts import size
from ingest.api import OnError
from ingest.api.source import DEFAULT_EVENT_BYTES
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.config.problems import Kind, Problem, Severity
from ingest.dead_letters.buffer import MAX_DEAD_LETTER_BYTES
from ingest.doctor.pipelines import machine
from ingest.plan.features import dead_letter_place, features_of, keeping_feature
from ingest.spark.master import DEFAULT_MASTER

_LETTER_BYTES = 4 / 3  # of a byte of the record, in Base64


def warnings_of(configuration: Configuration, machine_bytes: int, cores: int) -> Iterator[Problem]:
    """
    Warnings about the pipelines whose events may be larger than by default.

    Args:
        configuration: of the pipelines.
        machine_bytes: memory of this machine.
        cores: of this machine.
    """
    spark = configuration.spark
    heap = machine.driver_heap(spark.driver_memory, spark.conf)
    slots = machine.task_slots(spark.master or DEFAULT_MASTER, cores)
    for pipeline in configuration.pipelines.values():
        event_bytes = pipeline.source.settings.decoding.max_event_bytes
        place = pipeline.source.place("max_event_bytes")
        if event_bytes <= DEFAULT_EVENT_BYTES:
            continue
        if slots and (found := machine.memory(machine_bytes, heap, slots, event_bytes)).findings:
            message = f"{slots} tasks with events of {size(event_bytes)}: {found.text}, on this machine"
            hint = "lower `max_event_bytes`, the task slots (`spark.master`) or `spark.driver_memory`"
            yield Problem(Kind.DOUBTFUL, place, message, hint, Severity.WARNING)
        features = features_of(configuration, pipeline, Catalog(configuration.plugins))
        kept = dead_letter_place(pipeline.sinks, features)
        threshold = None if kept is None else keeping_feature(kept).kept_above(kept.planned)
        in_letter_bytes = event_bytes if threshold is None else min(event_bytes, threshold)
        if pipeline.on_error is OnError.DEAD_LETTER and in_letter_bytes * _LETTER_BYTES > MAX_DEAD_LETTER_BYTES:
            can_read_again = pipeline.source.settings.read_again_by is not None
            message = (
                f"the dead letter of an event of {size(in_letter_bytes)} exceeds {size(MAX_DEAD_LETTER_BYTES)}, the "
                f"limit of a micro-batch, and {'has only its place' if can_read_again else 'stops the pipeline'}"
            )
            hint = (
                "give a table of its sinks `blobs: {threshold: 1MiB}`, so that large values are not in dead letters, "
                "lower `max_event_bytes` below 48MiB, or set `on_error: drop`"
            )
            yield Problem(Kind.DOUBTFUL, place, message, hint, Severity.WARNING)
