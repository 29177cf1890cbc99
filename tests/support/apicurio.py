"""Apicurio's registry, and its serializers for Java."""

import json
import shutil
import subprocess
import tarfile
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ingest.api import Decorator
from ingest.api.schemas import GivenSchemas
from ingest.formats.confluent import schema_id_of
from ingest.http import call
from ingest.registry.client import RegistryClient
from ingest.registry.options import RegistryOptions
from ingest.testing.events import event_of
from tests.support.java_program import JavaProgram
from tests.support.local import ServerProcess, free_ports, jars

VERSION = "2.6.13.Final"
ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
_CONFLUENT, _OWN = "/apis/ccompat/v7", "/apis/registry/v2"
_SERDES = Path(__file__).with_name("ApicurioSerdes.java")


@contextmanager
def serving_apicurio(folder: Path) -> Iterator[str]:
    """Run the registry with its data in memory; gives the address of Confluent's API."""
    maven = shutil.which("mvn")
    assert maven is not None, "Maven fetches the registry"
    fetch = ["dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}"]
    subprocess.run([maven, "--batch-mode", "--quiet", *fetch], check=True)
    (bundle,) = folder.glob("*.tar.gz")
    with tarfile.open(bundle) as packed:
        packed.extractall(folder, filter="data")
    (port,) = free_ports(1)
    server = ServerProcess("apicurio", folder)
    (program,) = folder.rglob(f"apicurio-registry-app-{VERSION}-runner.jar")
    options = ["-Xmx512m", f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1"]
    server.start([jars.java(), *options, "-jar", str(program)])
    url = f"http://127.0.0.1:{port}{_CONFLUENT}"

    def answers() -> bool:
        try:
            return bool(RegistryClient(RegistryOptions(url=url)).check())
        except Exception:  # noqa: BLE001 - it is starting
            return False

    try:
        server.wait_until(answers, timeout_s=120.0)
        yield url
    finally:
        server.stop()


def registered(
    url: str, subject: str, schema: object, kind: str, references: Sequence[Mapping[str, object]] = ()
) -> int:
    """Add a version of a subject; returns the ID of its schema."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    content = {"schema": text, "schemaType": kind, "references": list(references)}
    answer = call(
        f"{url}/subjects/{subject}/versions",
        data=json.dumps(content).encode(),
        headers={"Content-Type": "application/vnd.schemaregistry.v1+json"},
        timeout_s=30,
        max_bytes=1 << 20,
    )
    assert answer.status == 200, answer
    return int(json.loads(answer.content)["id"])


def attributes_of(url: str, decorator: Decorator[Any], value: bytes) -> Mapping[str, bytes]:
    """The attributes of an event with a value that has the ID of a schema."""
    found = RegistryClient(RegistryOptions(url=url)).schema(schema_id_of(value))
    assert found is not None
    decorator.use_schemas(GivenSchemas([found]))
    event = event_of(value)
    assert decorator.decorate(event)
    return event.attributes


class Serialized(NamedTuple):
    """The value of a record, and its headers."""

    value: bytes
    headers: dict[str, bytes]


class ApicurioSerdes(JavaProgram):
    """
    ApicurioSerdes.java.

    Args:
        url: of Confluent's API of the registry.
        folder: for the log.
    """

    def __init__(self, url: str, folder: Path) -> None:
        memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        class_path = jars.class_path("apicurio-serdes", _SERDES.parent)
        address = url.removesuffix(_CONFLUENT) + _OWN
        super().__init__([jars.java(), *memory, "-cp", class_path, str(_SERDES), address], folder / "serdes.log")

    def avro(
        self, topic: str, schema: object, content: object, options: Mapping[str, str], part: str = "value"
    ) -> Serialized:
        """
        A datum that is JSON of Avro.

        Raises:
            ProgramError: the serializer refuses it.
        """
        texts = (json.dumps(each).encode() for each in (schema, content))
        return self._serialized("avro", topic, part, next(texts), "-", next(texts), options)

    def protobuf(
        self, topic: str, descriptors: bytes, message: str, content: bytes, options: Mapping[str, str]
    ) -> Serialized:
        """
        A serialized message of a type in the last one of serialized descriptors, such as `Outer.Inner`.

        Raises:
            ProgramError: the serializer refuses it.
        """
        return self._serialized("protobuf", topic, "value", descriptors, message, content, options)

    def json(self, topic: str, content: object, options: Mapping[str, str]) -> Serialized:
        """An object, with the newest schema of the topic's artifact."""
        return self._serialized("json", topic, "value", b"", "-", json.dumps(content).encode(), options)

    def _serialized(
        self, kind: str, topic: str, part: str, schema: bytes, message: str, content: bytes, options: Mapping[str, str]
    ) -> Serialized:
        named = (f"{name}={value}" for name, value in options.items())
        answer = self.ask(kind, topic, part, _word(schema), message, _word(content), *named)
        value, *headers = answer.split(" ")
        pairs = (header.rpartition("=") for header in headers)
        return Serialized(bytes.fromhex(value), {name: bytes.fromhex(text) for name, _, text in pairs})


def _word(content: bytes) -> str:
    return b64encode(content).decode()
