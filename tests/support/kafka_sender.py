"""Sends with Kafka's Java client what kafka-python cannot: every codec, headers without a value."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.java_program import JavaProgram
from tests.support.local import jars, versions
from tests.support.servers import Kafka

SOURCE = Path(__file__).with_name("KafkaSender.java")


class ProducerRecord(NamedTuple):
    """A record; None is Kafka's null, also for headers."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int = 1_308_748_686_334


class KafkaSender(JavaProgram):
    """KafkaSender.java for one broker."""

    def __init__(self, kafka: Kafka) -> None:
        memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=ERROR"]
        # with its version named, as a broker's: else Maven would fetch the same jars into a second folder
        class_path = jars.class_path("kafka", version=versions.default("kafka"))
        command = [jars.java(), *memory, "-cp", class_path, str(SOURCE), kafka.brokers]
        super().__init__(command, kafka.server.folder / "sender.log")

    def send(self, topic: str, records: Iterable[ProducerRecord], options: Mapping[str, str] | None = None) -> int:
        """
        Send records and wait for their acknowledgement; returns their number.

        Args:
            options: options of Kafka's producer, such as `compression.type`.

        Raises:
            ProgramError: the client or the broker refuses a record.
        """
        self.ask("use", *(f"{name}={value}" for name, value in (options or {}).items()))
        for record in records:
            named = (part for name, value in record.headers for part in (_word(name.encode()), _word(value)))
            place = (topic, str(record.partition), str(record.timestamp_ms))
            self.write("record", *place, _word(record.key), _word(record.value), *named)
        return int(self.ask("flush"))


def _word(value: bytes | None) -> str:
    return "-" if value is None else "=" + base64.b64encode(value).decode()
