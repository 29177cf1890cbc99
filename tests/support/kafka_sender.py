"""What kafka-python can not send: records in every codec, headers without a value, by Kafka's own client."""

import base64
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.support.local import jars
from tests.support.servers import Kafka

SOURCE = Path(__file__).with_name("KafkaSender.java")
"""Run from its source, which needs a JDK and not only a JRE."""


class SenderError(AssertionError):
    """Kafka's client refused; the message is its own."""


class Sent(NamedTuple):
    """A record; None is Kafka's null, for headers too."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int = 1_308_748_686_334


class KafkaSender:
    """A Java process that sends; use it in a `with` block."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._java: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=ERROR"]
        command = [jars.java(), *memory, "-cp", jars.class_path("kafka"), str(SOURCE), self._kafka.brokers]
        with (self._kafka.server.folder / "sender.log").open("ab") as log:
            self._java = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._java is not None
        self._java.kill()
        with self._java:
            self._java.wait(10)

    def send(self, topic: str, records: Iterable[Sent], options: Mapping[str, str] | None = None) -> int:
        """
        Send records and wait until the broker has them all; how many there were.

        Args:
            options: of Kafka's producer, `compression.type` for instance.

        Raises:
            SenderError: the client or the broker does not take them.
        """
        self._ask(" ".join(["use", *(f"{name}={value}" for name, value in (options or {}).items())]))
        for record in records:
            named = (part for name, value in record.headers for part in (_word(name.encode()), _word(value)))
            words = ["record", topic, str(record.partition), str(record.timestamp_ms)]
            self._write(" ".join([*words, _word(record.key), _word(record.value), *named]))
        return int(self._ask("flush"))

    def _ask(self, line: str) -> str:
        self._write(line)
        return self._answer()

    def _write(self, line: str) -> None:
        assert self._java is not None
        assert self._java.stdin is not None
        self._java.stdin.write(line + "\n")
        if not line.startswith("record"):
            self._java.stdin.flush()

    def _answer(self) -> str:
        assert self._java is not None
        assert self._java.stdout is not None
        state, _, text = self._java.stdout.readline().strip().partition(" ")
        if state != "ok":
            raise SenderError(text or f"Kafka's client ended; see {self._kafka.server.folder / 'sender.log'}")
        return text


def _word(value: bytes | None) -> str:
    return "-" if value is None else "=" + base64.b64encode(value).decode()
