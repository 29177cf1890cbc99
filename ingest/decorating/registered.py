"""Schemas of a registry, parsed once."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ingest.api.schemas import BadSchemaError, GivenSchemas, Schemas, SchemaType, WriterSchema

P = TypeVar("P")

_MAX_PARSED = 1_000  # schemas; a parsed one takes some KiB


class ParsedSchemas(Generic[P]):
    """
    What a decorator makes of schemas, by their IDs.

    Args:
        type: of the schemas that the decorator reads.
        parse: makes the parsed schema; raises ValueError if it cannot.
    """

    def __init__(self, type: SchemaType, parse: Callable[[WriterSchema], P]) -> None:  # noqa: A002 - as in the schema
        self._type = type
        self._parse = parse
        self._schemas: Schemas = GivenSchemas()
        self._parsed: dict[int, P] = {}
        self._bad: dict[int, str] = {}

    def use(self, schemas: Schemas) -> None:
        """Read schemas from here; as `Decorator.use_schemas`."""
        self._schemas = schemas

    def of(self, schema_id: int) -> P:
        """
        The parsed schema of an ID.

        Raises:
            BadSchemaError: the schema cannot be used.
            MissingSchemaError, DecorateError: as `Schemas.of`.
        """
        found = self._parsed.get(schema_id)
        return self._parsed_now(schema_id) if found is None else found

    def _parsed_now(self, schema_id: int) -> P:
        if schema_id in self._bad:
            raise BadSchemaError(self._bad[schema_id])
        schema = self._schemas.of(schema_id)
        if len(self._parsed) + len(self._bad) >= _MAX_PARSED:
            self._parsed.clear()
            self._bad.clear()
        try:
            if schema.type is not self._type:
                raise ValueError(f"it is a schema of {schema.type}, not of {self._type}")  # noqa: TRY301 - as an invalid one
            found = self._parsed[schema_id] = self._parse(schema)
        except ValueError as error:
            self._bad[schema_id] = f"the schema with the ID {schema_id} cannot be used: {error}"
            raise BadSchemaError(self._bad[schema_id]) from error
        return found
