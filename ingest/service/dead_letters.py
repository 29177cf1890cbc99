"""The place a pipeline's dead letters go to, made of its configuration."""

from ingest.config.model import Configuration, Pipeline
from ingest.config.options import DeadLetterTopic
from ingest.dead_letters.files import FileDeadLetters
from ingest.dead_letters.kafka import KafkaDeadLetters
from ingest.dead_letters.queue import DeadLetterQueue


def dead_letter_queue(configuration: Configuration, pipeline: Pipeline) -> DeadLetterQueue:
    """The queue of a pipeline; nothing is reached before it is used."""
    match pipeline.dead_letters.settings:
        case DeadLetterTopic() as letters:
            from ingest.kafka.admin import KafkaAdmin
            from ingest.kafka.producer import KafkaProducer
            from ingest.kafka.tail import TopicTail

            connection = letters.connection()
            return KafkaDeadLetters(
                letters.topic,
                pipeline=pipeline.name,
                state_dir=configuration.state_dir,
                admin=lambda: KafkaAdmin(connection),
                producer=lambda: KafkaProducer(connection),
                reader=lambda: TopicTail(connection),
            )
        case _:
            return FileDeadLetters(configuration.state_dir, pipeline.name)
