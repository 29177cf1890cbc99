"""What is wrong with a body, and with the options of a body store."""

from ingest.api import ConfigError, IntegrityError, NotFoundError, SchemaError


class BodyNotStoredError(NotFoundError):
    """A process began to store the body and has not ended."""

    code = "body_not_stored"


class BodyGoneError(NotFoundError):
    """The body was swept: nothing referred to it."""

    code = "body_gone"


class BodyCorruptError(IntegrityError):
    """A block of a stored body is missing or damaged, or the body has another hash than its id."""

    code = "body_corrupt"


class HashMismatchError(ConfigError):
    """The bytes to store have another SHA-256 than the caller says; nothing is stored."""

    code = "hash_mismatch"


class BodyMissingError(NotFoundError):
    """A pointer cannot be copied: the target does not have its body."""

    code = "body_missing"


class BodiesOfOtherTableError(SchemaError):
    """
    A body store belongs to another table, of another file: a sweep for this table would delete the bodies of that one.

    Args:
        name: of the body store.
        table: that the file declares it for.
        owner: the table that it belongs to.
    """

    code = "bodies_of_other_table"

    def __init__(self, name: str, table: str, owner: str) -> None:
        super().__init__(
            f'the body store "{name}" belongs to table "{owner}", but the file declares it for table "{table}"',
            hint=f'use another `name` in `bodies` of table "{table}": one body store belongs to one table',
        )


class BodiesElsewhereError(SchemaError):
    """
    The large values of a table are in another body store than the file declares: its pointers would find no body.

    Args:
        table: with the pointers.
        declared: name of the body store in the file.
        found: the one that is recorded with the table.
    """

    code = "bodies_elsewhere"
    exit_code = 4

    def __init__(self, table: str, declared: str, found: str) -> None:
        super().__init__(
            f'the large values of table "{table}" are in the body store "{found}", but the file declares "{declared}"',
            hint=f"declare `bodies: {{name: {found}}}` of the table, or copy the table into a new one that has another "
            "body store",
        )


class BodiesDifferError(SchemaError):
    """
    A body store has bodies that were stored with another block size or compression than declared.

    Args:
        table: with the status of the bodies.
        declared: the options in the file.
        found: those recorded with the table.
    """

    code = "bodies_differ"

    def __init__(self, table: str, declared: str, found: str) -> None:
        super().__init__(
            f'the bodies of table "{table}" are stored with {found}, but the file declares {declared}',
            hint="`block_size` and `compression` of `bodies` cannot change: correct the file, or copy the table into a "
            "new one that has another body store",
        )
