"""Schemas of a registry, by the ID before a value."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from ingest.api.errors import DecorateError, Disposition, IngestError


class SchemaType(StrEnum):
    """In which language a schema is written."""

    AVRO = "avro"
    PROTOBUF = "protobuf"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """
    The schema that a value was written with.

    Attributes:
        content: of Avro its JSON; of protobuf a serialized FileDescriptorSet, whose last file is that of the schema.
        references: of Avro the JSON of the schemas whose types it names, each after those that it names itself.
    """

    id: int
    type: SchemaType
    content: bytes
    references: tuple[bytes, ...] = ()


class UnknownSchemaError(DecorateError):
    """The registry has no schema with the ID before the value."""

    code = "unknown_schema"
    remedy = (
        "Correct the producer, or `registry: {url: …}` if it is another registry than the producer's; then replay the "
        "dead letters."
    )


class BadSchemaError(DecorateError):
    """The schema of the value, as the registry has it, cannot be used: it is invalid, or of another type."""

    code = "bad_schema"
    remedy = "Use the decorator for the type of the schema, or correct the schema; then replay the dead letters."


class SchemaNotLookedUpError(DecorateError):
    """The micro-batch has more IDs of unknown schemas than are looked up; this ID was not looked up."""

    code = "schema_not_looked_up"
    remedy = "Correct the producer of values with random IDs; then replay the dead letters, which looks the ID up."


class SchemaNotCachedError(DecorateError):
    """A dry run has no schema with the ID before the value; it asks the registry only for records of topics."""

    code = "schema_not_cached"
    remedy = (
        "Read records of the topic with `--topic`, run the pipeline once with such a record, or declare the schema: "
        "`registry: {schemas: {ID: …}}`."
    )


class RunAgainError(IngestError):
    """
    A task lacks something that the driver can get; the micro-batch runs again with it.

    A decorator may raise it for an event. The attempt writes nothing from then on, and the task sink of the destination
    that lacks something says in `TaskSink.request` what it is.
    """

    code = "run_again"
    disposition: ClassVar[Disposition] = Disposition.RETRY
    remedy = "None: the micro-batch runs again by itself."


class MissingSchemaError(RunAgainError):
    """A task does not have a schema yet; the driver looks it up, and the micro-batch runs again with it."""

    code = "missing_schema"
    remedy = "None: the micro-batch runs again by itself."


class Schemas(ABC):
    """The schemas that the tasks of a pipeline know."""

    @abstractmethod
    def of(self, schema_id: int) -> WriterSchema:
        """
        The schema of an ID.

        Raises:
            MissingSchemaError: it is not known whether there is one; the micro-batch runs again.
            DecorateError: there is none, or it cannot be used.
        """


class GivenSchemas(Schemas):
    """Schemas that are given, as those of an example; by default none, as where no event is read."""

    def __init__(self, schemas: Iterable[WriterSchema] = ()) -> None:
        self._schemas = {schema.id: schema for schema in schemas}

    def of(self, schema_id: int) -> WriterSchema:
        """The given one; UnknownSchemaError if none is given."""
        found = self._schemas.get(schema_id)
        if found is None:
            raise UnknownSchemaError(f"the registry has no schema with the ID {schema_id}")
        return found
