"""The schemas of a registry in a task."""

from ingest.api import SinkResult, TaskSink, TaskSpec, WriteCounts
from ingest.api.schemas import MissingSchemaError, Schemas, UnknownSchemaError, WriterSchema
from ingest.registry.message import KnownSchemas, packed_ids
from ingest.registry.options import MAX_ID

MAX_REQUESTED = 1_000
"""IDs that one task requests at once."""


class SchemaTable(Schemas, TaskSink):
    """
    The schemas that the driver has sent, and the IDs of those that the attempt lacks.

    It is a destination without events: what it lacks is requested from its committer, as a store requests families.
    """

    def __init__(self) -> None:
        self._message = b""
        self._known = KnownSchemas()
        self._missing: set[int] = set()

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:  # noqa: ARG002 - needs neither
        """Know what the driver knows."""
        self._missing.clear()
        if prepared != self._message:  # most micro-batches have the schemas of the one before
            self._message, self._known = prepared, KnownSchemas.unpacked(prepared)

    def of(self, schema_id: int) -> WriterSchema:
        """As `Schemas.of`."""
        schema = self._known.schemas.get(schema_id)
        if schema is not None:
            return schema
        if (refusal := self._known.refusal(schema_id)) is not None:
            raise refusal
        if schema_id > MAX_ID:
            raise UnknownSchemaError(f"no registry has a schema with the ID {schema_id}, which has more than 31 bits")
        if len(self._missing) < MAX_REQUESTED:
            self._missing.add(schema_id)
        raise MissingSchemaError(f"the schema with the ID {schema_id} is not known yet")

    def request(self) -> SinkResult:
        """The IDs of the schemas that the attempt lacks."""
        return SinkResult(packed_ids(self._missing), run_again=True) if self._missing else SinkResult()

    def flush(self) -> SinkResult:
        """Nothing: an attempt that lacks a schema has ended before."""
        return SinkResult()

    def close(self) -> None:
        """Nothing: it has no connection."""
