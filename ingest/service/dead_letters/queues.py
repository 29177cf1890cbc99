"""The dead-letter queue and the error budget of a pipeline, created from its configuration, and its components."""

from functools import partial

import decorators
from ingest.config.model import Configuration, Pipeline, names_of
from ingest.config.options import DeadLetterTopic
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.components import Components
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.kafka import Envelope, KafkaDeadLetters
from ingest.dead_letters.queue import DeadLetterQueue
from ingest.dead_letters.topic_records import in_headers, in_json
from ingest.kafka.loops import cluster_of_reader, clusters_of_sinks
from ingest.plan.plan import Plan
from ingest.spark.state import state_of


def dead_letter_queue(configuration: Configuration, pipeline: Pipeline) -> DeadLetterQueue:
    """The queue of a pipeline; it connects at its first use."""
    match pipeline.dead_letters.settings:
        case DeadLetterTopic() as settings:
            from ingest.kafka.admin import KafkaAdmin
            from ingest.kafka.producer import KafkaProducer
            from ingest.kafka.tail import TopicTail

            connection = settings.connection()
            sinks = names_of(pipeline.sinks)
            with_headers = partial(in_headers, sinks=sinks)
            envelope: Envelope = with_headers if settings.envelope == "headers" else in_json
            return KafkaDeadLetters(
                settings.topic,
                pipeline=pipeline.name,
                state=state_of(configuration),
                admin=lambda: KafkaAdmin(connection),
                producer=lambda: KafkaProducer(connection),
                reader=lambda: TopicTail(connection),
                cluster_of_reader=cluster_of_reader(pipeline.source.settings, settings.topic),
                clusters_of_sinks=clusters_of_sinks(
                    zip(sinks, (sink.settings for sink in pipeline.sinks), strict=True), settings.topic
                ),
                envelope=envelope,
            )
        case _:
            return FileDeadLetters(state_of(configuration), pipeline.name)


def components_of(plan: Plan) -> Components:
    """The names of the sinks and decorators that a plan runs."""
    return Components(
        sinks=frozenset(component.name for component in plan.sinks),
        decorators=frozenset(component.name for component in plan.decorators),
        tables=plan.tables_of_sinks,
        numbered=frozenset(sink.name for sink in plan.sinks if sink.settings.label is None and sink.name != sink.kind),
        decorator_kinds=frozenset([*decorators.BUILTIN, *(component.kind for component in plan.decorators)]),
        fingerprint=plan.fingerprint,
    )


def error_budget(pipeline: Pipeline) -> ErrorBudget:
    """The budget of a pipeline, or of a replay of its records, with an empty window."""
    options = pipeline.error_budget
    return ErrorBudget(
        share=options.share,
        min_events=options.min_events,
        window_s=options.window,
        max_records=pipeline.source.settings.max_records_per_batch,
    )
