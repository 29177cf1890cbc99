"""Schemas that were looked up, in the state of the service: one file for each."""

import hashlib
from dataclasses import dataclass

from ingest.api.schemas import SchemaType, WriterSchema
from ingest.durable import StatePath, file_errors, make_folder, write_durably
from ingest.durable.record import Hex, Record

FOLDER = "schemas"
"""Name of the folder below `state_dir`."""
_DIGITS = 16  # of the hash of the URL, in the name of a folder


@dataclass(frozen=True, slots=True)
class CachedSchema(Record, kind="schema of the registry", remedy="remove it: it is then looked up again"):
    """
    A schema, as in `WriterSchema`.

    Attributes:
        url: of the registry that has it.
    """

    url: str
    id: int
    type: SchemaType
    content: Hex
    references: tuple[Hex, ...] = ()


class SchemaCache:
    """
    The schemas of one registry that were looked up.

    The schema of an ID never changes, so each file is written once; several processes may write the same one.

    Args:
        state: root of the state.
        url: of the registry.
    """

    def __init__(self, state: StatePath, url: str) -> None:
        self._url = url
        self._folder = state / FOLDER / hashlib.sha256(url.encode()).hexdigest()[:_DIGITS]

    def get(self, schema_id: int) -> WriterSchema | None:
        """
        A schema; None if it was not looked up.

        Raises:
            StoreUnavailableError: the file cannot be read now.
            UnreadableRecordError: it is damaged.
        """
        path = self._path(schema_id)
        with file_errors(path):
            if not path.exists():
                return None
            content = path.read_bytes()
        found = CachedSchema.of(content, path)
        return WriterSchema(found.id, found.type, found.content, found.references)

    def put(self, schema: WriterSchema) -> None:
        """
        Keep a schema, durably.

        Raises:
            StoreUnavailableError: the file cannot be written now.
        """
        record = CachedSchema(self._url, schema.id, schema.type, schema.content, schema.references)
        path = self._path(schema.id)
        with file_errors(path):
            make_folder(self._folder)
            write_durably(path, record.to_bytes())

    def _path(self, schema_id: int) -> StatePath:
        return self._folder / f"{schema_id}.json"
