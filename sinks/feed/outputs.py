"""Destinations of the changes of a feed: lines of text, or a topic of Kafka."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ingest.kafka.producer import KafkaProducer
from ingest.kafka.settings import KafkaConnection
from sinks.feed.envelope import Message


class ChangeOutput(ABC):
    """A destination; after `write` returns, a crash of this process does not lose the messages."""

    @abstractmethod
    def write(self, messages: Sequence[Message]) -> None:
        """
        Write messages durably, in order.

        Raises:
            IngestError: some of them may be written; the caller writes all of them again, or ends.
        """

    @abstractmethod
    def close(self) -> None:
        """Release the destination."""


class LineOutput(ChangeOutput):
    """
    A line for each message; a tombstone has none.

    Args:
        write: writes text.
        flush: passes it to the reader.
    """

    def __init__(self, write: Callable[[str], None], flush: Callable[[], None]) -> None:
        self._write = write
        self._flush = flush

    def write(self, messages: Sequence[Message]) -> None:
        """Write and flush the lines."""
        for message in messages:
            if message.value is not None:
                self._write(message.value.decode() + "\n")
        self._flush()

    def close(self) -> None:
        """Nothing: the stream belongs to the caller."""


class KafkaOutput(ChangeOutput):
    """
    A topic. All messages of a row have the same key, so they are in one partition, in their order.

    Args:
        connection: of the cluster.
        topic: exists, or the broker creates it.
    """

    def __init__(self, connection: KafkaConnection, topic: str) -> None:
        self._producer = KafkaProducer(connection)
        self._topic = topic

    def write(self, messages: Sequence[Message]) -> None:
        """Send the messages, and wait until all in-sync replicas have them."""
        for message in messages:
            self._producer.send(self._topic, message.key, message.value, timestamp_ms=message.timestamp_ms)
        self._producer.flush()

    def close(self) -> None:
        """Close the connection."""
        self._producer.close()
