"""Error codes of blobs: what raises them, and their meaning."""

from ingest.api import ConfigError, IngestError, IntegrityError, NotFoundError, SchemaError
from sinks.blobs.errors import BlobsElsewhereError

BLOB_CODES: dict[str, tuple[type[IngestError], str]] = {
    "blobs_differ": (
        SchemaError,
        "Blobs are declared with another block size or compression than those that are stored.",
    ),
    "blobs_elsewhere": (
        BlobsElsewhereError,
        "A table is declared with another blob store than the one that has its large values.",
    ),
    "blobs_of_other_table": (
        SchemaError,
        "A blob store is declared for another table than the one that it belongs to.",
    ),
    "blob_corrupt": (
        IntegrityError,
        "A block of a stored blob is missing or damaged, or the blob has another hash than its id.",
    ),
    "blob_gone": (NotFoundError, "A blob was swept: nothing referred to it for the time `sweep_after`."),
    "blob_missing": (NotFoundError, "A pointer is copied into a table that does not have its blob."),
    "blob_not_stored": (NotFoundError, "A blob is being stored, or its writer was killed."),
    "hash_mismatch": (ConfigError, "The bytes to store have another SHA-256 than the caller says."),
}
