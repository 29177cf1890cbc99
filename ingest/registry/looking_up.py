"""The driver's half: looks up the schemas that tasks request."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from ingest.api import Batch, Committer
from ingest.api.schemas import (
    BadSchemaError,
    SchemaNotCachedError,
    UnknownSchemaError,
    WriterSchema,
)
from ingest.registry.cache import SchemaCache
from ingest.registry.client import RegistryClient, RegistryRefusedError, RegistryUnavailableError, UnusableSchemaError
from ingest.registry.message import KnownSchemas, ids_of

MAX_UNKNOWN = 100
"""IDs of a micro-batch that are looked up and that the registry does not know: random IDs are an attack."""
MAX_SCHEMAS = 1_000
_MAX_KEPT_BYTES = 16 << 20  # of schemas that are sent to each task; one takes some KiB
"""Schemas that are sent to tasks, and schemas that a micro-batch may add."""
_KNOWN_TO_BE_UNKNOWN_S = 60.0
"""How long an ID that the registry does not know is not looked up again: a schema may be registered later."""


class SchemaSource(ABC):
    """Where schemas come from."""

    @abstractmethod
    def schema(self, schema_id: int) -> WriterSchema | None:
        """
        The schema with an ID; None if there is none.

        Raises:
            UnusableSchemaError: it cannot be used.
            DecorateError: values with it fail for another reason.
            IngestError: it cannot be looked up now.
        """


class CachedSource(SchemaSource):
    """
    A registry, and a cache of what it has answered.

    Args:
        cache: of the registry.
        client: of the registry.
        on_new: called with a schema that the registry had and the cache had not.
    """

    def __init__(
        self,
        cache: SchemaCache,
        client: RegistryClient,
        on_new: Callable[[WriterSchema], None] = lambda _schema: None,
    ) -> None:
        self._cache = cache
        self._client = client
        self._on_new = on_new

    def schema(self, schema_id: int) -> WriterSchema | None:
        """The cached one; else that of the registry, which is cached."""
        found = self._cache.get(schema_id)
        if found is None and (found := self._client.schema(schema_id)) is not None:
            self._cache.put(found)
            self._on_new(found)
        return found


class CacheAlone(SchemaSource):
    """The cache alone, for dry runs of records that are given; there may be none."""

    def __init__(self, cache: SchemaCache | None) -> None:
        self._cache = cache

    def schema(self, schema_id: int) -> WriterSchema:
        """The cached one."""
        found = None if self._cache is None else self._cache.get(schema_id)
        if found is None:
            raise SchemaNotCachedError(
                f"the schema with the ID {schema_id} was not looked up yet, and `registry` does not declare it",
                hint=f"run the pipeline once with such a record, or write registry: {{schemas: {{{schema_id}: …}}}}",
            )
        return found


class CacheOrRegistry(SchemaSource):
    """The cache, else the registry, for dry runs of the records of topics; nothing is stored."""

    def __init__(self, cache: SchemaCache, client: RegistryClient) -> None:
        self._cache = cache
        self._client = client

    def schema(self, schema_id: int) -> WriterSchema | None:
        """The cached one; else that of the registry."""
        found = self._cache.get(schema_id)
        if found is not None:
            return found
        try:
            return self._client.schema(schema_id)
        except (RegistryUnavailableError, RegistryRefusedError) as error:  # a dry run waits for nothing
            raise SchemaNotCachedError(
                f"the schema with the ID {schema_id} was not looked up yet, and the registry cannot say it: "
                f"{error.message}",
                hint=error.hint,
            ) from error


class NoSource(SchemaSource):
    """No registry: only the schemas of the file are known."""

    def schema(self, schema_id: int) -> WriterSchema | None:  # noqa: ARG002 - there is none
        """None."""
        return None


class SchemaLookup(Committer):
    """
    The committer of `ingest.registry.table.SchemaTable`: prepares the schemas that its tasks need.

    Args:
        declared: schemas of the file, which are not looked up.
        source: of all others.
        clock_s: monotonic.
    """

    def __init__(
        self,
        declared: Mapping[int, WriterSchema],
        source: SchemaSource,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._declared = declared
        self._source = source
        self._clock_s = clock_s
        self._batch = ""
        self._found: dict[int, WriterSchema] = {}
        self._refused: dict[int, tuple[str, str]] = {}
        self._refused_at_s: dict[int, float] = {}
        self._added = 0
        self._unknown = 0
        self._message: bytes | None = None

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:
        """
        The schemas for the tasks, with those that they have requested.

        Raises:
            IngestError: the registry does not answer, or the cache cannot be used now.
        """
        if batch.name != self._batch:
            self._start(batch.name)
        for schema_id in ids_of(requests):
            if self._is_full:
                break
            if schema_id not in self._found and schema_id not in self._refused and schema_id not in self._declared:
                self._message = None
                self._look_up(schema_id)
        if self._message is None:
            self._message = KnownSchemas({**self._found, **self._declared}, self._refused, self._is_full).packed()
        return self._message

    @property
    def _is_full(self) -> bool:
        return self._unknown >= MAX_UNKNOWN or self._added >= MAX_SCHEMAS

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Nothing: tasks write nothing."""

    def _start(self, batch: str) -> None:
        """Start another micro-batch; within one, all attempts must decide alike, so nothing is forgotten there."""
        self._batch = batch
        if self._is_full:
            self._message = None
        self._added = self._unknown = 0
        now_s = self._clock_s()
        if len(self._found) > MAX_SCHEMAS or len(self._message or b"") > _MAX_KEPT_BYTES:
            self._found.clear()
            self._message = None
        expired = [each for each, at_s in self._refused_at_s.items() if now_s - at_s >= _KNOWN_TO_BE_UNKNOWN_S]
        for schema_id in [*self._refused_at_s] if len(self._refused_at_s) > MAX_SCHEMAS else expired:
            del self._refused[schema_id], self._refused_at_s[schema_id]
            self._message = None

    def _look_up(self, schema_id: int) -> None:
        try:
            found = self._source.schema(schema_id)
        except UnusableSchemaError as error:
            text = f"the schema with the ID {schema_id} cannot be used: {error}"
            self._refuse(schema_id, BadSchemaError.code, text)
        except SchemaNotCachedError as error:
            self._refuse(schema_id, error.code, str(error))
        else:
            if found is None:
                self._unknown += 1
                text = f"the registry has no schema with the ID {schema_id}"
                self._refuse(schema_id, UnknownSchemaError.code, text)
            else:
                self._added += 1
                self._found[schema_id] = found

    def _refuse(self, schema_id: int, code: str, message: str) -> None:
        self._refused[schema_id], self._refused_at_s[schema_id] = (code, message), self._clock_s()
