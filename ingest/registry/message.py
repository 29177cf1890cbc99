"""The schemas as the driver sends them to the tasks, and the IDs that tasks request."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgpack

from ingest.api import DecorateError
from ingest.api.schemas import (
    BadSchemaError,
    SchemaNotCachedError,
    SchemaNotLookedUpError,
    SchemaType,
    UnknownSchemaError,
    WriterSchema,
)

SCHEMAS = "schemas of the registry"
"""Name of the destination that has them; no store has a space in its name."""

_REFUSALS: dict[str, type[DecorateError]] = {
    each.code: each for each in (BadSchemaError, SchemaNotCachedError, SchemaNotLookedUpError, UnknownSchemaError)
}


@dataclass(frozen=True, slots=True)
class KnownSchemas:
    """
    What is known of a registry.

    Attributes:
        schemas: ID -> schema.
        refused: ID -> code and message of the error of a value with it.
        is_full: no other schema of this micro-batch is looked up.
    """

    schemas: Mapping[int, WriterSchema] = field(default_factory=dict)
    refused: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    is_full: bool = False

    def packed(self) -> bytes:
        """The message, for `unpacked`."""
        content = (
            [(each.id, each.type.value, each.content, each.references) for each in self.schemas.values()],
            [(schema_id, code, message) for schema_id, (code, message) in self.refused.items()],
            self.is_full,
        )
        packed: bytes = msgpack.packb(content)
        return packed

    @classmethod
    def unpacked(cls, message: bytes) -> "KnownSchemas":
        """The inverse of `packed`; knows nothing if the message is empty."""
        if not message:
            return cls()
        schemas, refused, is_full = msgpack.unpackb(message)
        return cls(
            {
                schema_id: WriterSchema(schema_id, SchemaType(kind), content, tuple(references))
                for schema_id, kind, content, references in schemas
            },
            {schema_id: (code, text) for schema_id, code, text in refused},
            is_full,
        )

    def refusal(self, schema_id: int) -> DecorateError | None:
        """The error of a value with an ID that is not among the schemas; None if the ID is to be looked up."""
        found = self.refused.get(schema_id)
        if found is not None:
            return _REFUSALS[found[0]](found[1])
        if not self.is_full:
            return None
        return SchemaNotLookedUpError(
            f"the schema with the ID {schema_id} was not looked up: its micro-batch has too many IDs of unknown schemas"
        )


def packed_ids(ids: Iterable[int]) -> bytes:
    """A request for schemas."""
    packed: bytes = msgpack.packb(sorted(ids))
    return packed


def ids_of(requests: Iterable[bytes]) -> list[int]:
    """The IDs in requests, sorted, each once."""
    return sorted({schema_id for request in requests for schema_id in msgpack.unpackb(request)})
