"""Error codes of large bodies: what raises them, and their meaning."""

from ingest.api import ConfigError, IngestError, IntegrityError, NotFoundError, SchemaError
from sinks.bodies.errors import BodiesElsewhereError

BODY_CODES: dict[str, tuple[type[IngestError], str]] = {
    "bodies_differ": (
        SchemaError,
        "Bodies are declared with another block size or compression than those that are stored.",
    ),
    "bodies_elsewhere": (
        BodiesElsewhereError,
        "A table is declared with another body store than the one that has its large values.",
    ),
    "bodies_of_other_table": (
        SchemaError,
        "A body store is declared for another table than the one that it belongs to.",
    ),
    "body_corrupt": (
        IntegrityError,
        "A block of a stored body is missing or damaged, or the body has another hash than its id.",
    ),
    "body_gone": (NotFoundError, "A body was swept: nothing referred to it for the time `sweep_after`."),
    "body_missing": (NotFoundError, "A pointer is copied into a table that does not have its body."),
    "body_not_stored": (NotFoundError, "A body is being stored, or its writer was killed."),
    "hash_mismatch": (ConfigError, "The bytes to store have another SHA-256 than the caller says."),
}
