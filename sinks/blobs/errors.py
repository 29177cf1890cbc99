"""What is wrong with a blob, and with the options of a blob store."""

from ingest.api import ConfigError, IntegrityError, NotFoundError, SchemaError


class BlobNotStoredError(NotFoundError):
    """A blob is being stored, or its writer was killed."""

    code = "blob_not_stored"
    hint = "wait until it is stored, or store it again"


class BlobGoneError(NotFoundError):
    """A blob was swept: nothing referred to it for the time `sweep_after`."""

    code = "blob_gone"
    remedy = "Store the blob again, then pin it."


class BlobCorruptError(IntegrityError):
    """A block of a stored blob is missing or damaged, or the blob has another hash than its id."""

    code = "blob_corrupt"
    hint = "restore the rows that 'attr2hbase admin blob check' names from a backup"


class HashMismatchError(ConfigError):
    """The bytes to store have another SHA-256 than the caller says."""

    code = "hash_mismatch"
    hint = "check the source; nothing is stored"


class BlobMissingError(NotFoundError):
    """A pointer is copied into a table that does not have its blob."""

    code = "blob_missing"
    remedy = "Declare `blobs` of the target, and load the tables of its blob store first, of the same dump."


class BlobsOfOtherTableError(SchemaError):
    """
    A blob store is declared for another table than the one that it belongs to.

    Args:
        name: of the blob store.
        table: that the file declares it for.
        owner: the table that it belongs to.
    """

    code = "blobs_of_other_table"
    remedy = "Use another `name` in `blobs` of the table: one blob store belongs to one table."

    def __init__(self, name: str, table: str, owner: str) -> None:
        super().__init__(
            f'the blob store "{name}" belongs to table "{owner}", but the file declares it for table "{table}"',
            hint=f'use another `name` in `blobs` of table "{table}": one blob store belongs to one table',
        )


class BlobsElsewhereError(SchemaError):
    """
    A table is declared with another blob store than the one that has its large values.

    Args:
        table: with the pointers.
        declared: name of the blob store in the file.
        found: the one that is recorded with the table.
    """

    code = "blobs_elsewhere"
    exit_code = 4
    remedy = "Declare the `name` of `blobs` that the message names, or copy the table into a new one."

    def __init__(self, table: str, declared: str, found: str) -> None:
        super().__init__(
            f'the large values of table "{table}" are in the blob store "{found}", but the file declares "{declared}"',
            hint=f"declare `blobs: {{name: {found}}}` of the table, or copy the table into a new one that has another "
            "blob store",
        )


class BlobsDifferError(SchemaError):
    """
    Blobs are declared with another block size or compression than those that are stored.

    Args:
        table: with the status of the blobs.
        declared: the options in the file.
        found: those recorded with the table.
    """

    code = "blobs_differ"
    hint = (
        "`block_size` and `compression` of `blobs` cannot change: correct the file, or copy the table into a new one "
        "that has another blob store"
    )

    def __init__(self, table: str, declared: str, found: str) -> None:
        super().__init__(
            f'the blobs of table "{table}" are stored with {found}, but the file declares {declared}',
        )
