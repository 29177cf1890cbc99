"""`attr2hbase admin dead-letters create-topic`: the topic that keeps the dead letters of a pipeline."""

from ingest.api import ConfigError
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.dead_letter_queue import chosen_pipeline
from ingest.cli.loading import loaded
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.config.options import DeadLetterTopic
from ingest.dead_letters.kafka import TOPIC_SETTINGS, loss_of_dead_letters
from ingest.kafka.admin import KafkaAdmin


def create_topic(out: Output, file: FileOption, *, pipeline: PipelineOption = None) -> None:
    """
    Create the topic for the dead letters of a pipeline, which keeps them until they are deleted by hand.

    Partitions and replicas are the cluster's defaults. A topic that exists stays as it is; a setting with which it
    deletes dead letters is a warning.

    Example: attr2hbase admin dead-letters create-topic
    """
    configuration, _ = loaded(out, file)
    chosen = chosen_pipeline(configuration, pipeline)
    settings = chosen.dead_letters.settings
    if not isinstance(settings, DeadLetterTopic):
        raise ConfigError(
            f'the dead letters of pipeline "{chosen.name}" are in files, which need no topic',
            hint="to keep them in a topic, write `dead_letters: {kafka: {topic: NAME}}`",
        )
    with KafkaAdmin(settings.connection()) as admin:
        is_new = admin.ensure_topic(settings.topic, TOPIC_SETTINGS)
        loss = loss_of_dead_letters(settings.topic, admin.settings(settings.topic))
    out.plain({"topic": settings.topic, "created": is_new, "warning": None if loss is None else loss._asdict()})
    if loss is not None:
        out.note(f"warning: {loss.message}; {loss.hint}", "yellow")
    out.done(f'topic "{settings.topic}" {"created" if is_new else "exists"}')
    out.next(command_line(file, "validate", "--connect"))
