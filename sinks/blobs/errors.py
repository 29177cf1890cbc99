"""What is wrong with a blob, and with the options of a blob store."""

from ingest.api import ConfigError, IntegrityError, NotFoundError, SchemaError


class BlobNotStoredError(NotFoundError):
    """A process began to store the blob and has not ended."""

    code = "blob_not_stored"


class BlobGoneError(NotFoundError):
    """The blob was swept: nothing referred to it."""

    code = "blob_gone"


class BlobCorruptError(IntegrityError):
    """A block of a stored blob is missing or damaged, or the blob has another hash than its id."""

    code = "blob_corrupt"


class HashMismatchError(ConfigError):
    """The bytes to store have another SHA-256 than the caller says; nothing is stored."""

    code = "hash_mismatch"


class BlobMissingError(NotFoundError):
    """A pointer cannot be copied: the target does not have its blob."""

    code = "blob_missing"


class BlobsOfOtherTableError(SchemaError):
    """
    A blob store belongs to another table, of another file: a sweep for this table would delete the blobs of that one.

    Args:
        name: of the blob store.
        table: that the file declares it for.
        owner: the table that it belongs to.
    """

    code = "blobs_of_other_table"

    def __init__(self, name: str, table: str, owner: str) -> None:
        super().__init__(
            f'the blob store "{name}" belongs to table "{owner}", but the file declares it for table "{table}"',
            hint=f'use another `name` in `blobs` of table "{table}": one blob store belongs to one table',
        )


class BlobsElsewhereError(SchemaError):
    """
    The large values of a table are in another blob store than the file declares: its pointers would find no blob.

    Args:
        table: with the pointers.
        declared: name of the blob store in the file.
        found: the one that is recorded with the table.
    """

    code = "blobs_elsewhere"
    exit_code = 4

    def __init__(self, table: str, declared: str, found: str) -> None:
        super().__init__(
            f'the large values of table "{table}" are in the blob store "{found}", but the file declares "{declared}"',
            hint=f"declare `blobs: {{name: {found}}}` of the table, or copy the table into a new one that has another "
            "blob store",
        )


class BlobsDifferError(SchemaError):
    """
    A blob store has blobs that were stored with another block size or compression than declared.

    Args:
        table: with the status of the blobs.
        declared: the options in the file.
        found: those recorded with the table.
    """

    code = "blobs_differ"

    def __init__(self, table: str, declared: str, found: str) -> None:
        super().__init__(
            f'the blobs of table "{table}" are stored with {found}, but the file declares {declared}',
            hint="`block_size` and `compression` of `blobs` cannot change: correct the file, or copy the table into a "
            "new one that has another blob store",
        )
