"""What may become a row key, a family, a column or a cell time, whatever the data says."""

from collections.abc import Callable, Iterable, Mapping

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from ingest.api import MAX_FAMILY_BYTES, MAX_ROW_KEY_BYTES, MAX_TIME_MS, MappingError
from ingest.api.notation import name_from_bytes
from sinks.mapping.mapper import ColumnOptions, FamilyOptions, SinkSettings

_ILLEGAL_IN_FAMILY = frozenset([*range(0x20), 0x7F, *b":/\\"])
_RESERVED_FAMILY = b"recovered.edits"  # a folder of HBase's own beside the families

Refusal = tuple[str, str]
"""Code and message of a MappingError that a column's name leads to, each time it is met."""


def check_row_key(row: bytes) -> None:
    """
    Refuse a row key that HBase has no place for.

    Raises:
        MappingError: it is empty or too long.
    """
    if not row:
        raise MappingError(
            "the row key is empty", code="empty_row_key", hint="give its template a part that every event has"
        )
    if len(row) > MAX_ROW_KEY_BYTES:
        raise MappingError(
            f"the row key has {len(row)} bytes, HBase allows {MAX_ROW_KEY_BYTES}",
            code="row_key_too_long",
            hint="shorten it, with a hash of the long part for example",
        )


def check_time(timestamp_ms: int) -> None:
    """
    Refuse a cell time that HBase has no place for.

    Raises:
        MappingError: it is negative or too large.
    """
    if not 0 <= timestamp_ms <= MAX_TIME_MS:
        raise MappingError(
            f"{timestamp_ms} ms is no time of a cell",
            code="bad_timestamp",
            hint="set a time after 1970, or say `timestamp: batch`",
        )


class NameGuard:
    """Which families and columns may be written; asked once for each name, so it may take its time."""

    def __init__(self, families: FamilyOptions, columns: ColumnOptions) -> None:
        self._allow = None if families.allow is None else frozenset(name.encode() for name in families.allow)
        self._deny = frozenset(name.encode() for name in families.deny)
        self._fullmatch = None if columns.name_pattern is None else columns.name_pattern.fullmatch

    def column(self, family: bytes, qualifier: bytes) -> bytes:
        """
        `family:qualifier`.

        Raises:
            MappingError: it may not be written.
        """
        refusal = self.refusal(family, qualifier)
        if refusal is not None:
            code, message = refusal
            raise MappingError(message, code=code)
        return family + b":" + qualifier

    def refusal(self, family: bytes, qualifier: bytes) -> Refusal | None:
        """Why an event with this column can not be written; None when it can."""
        shown = name_from_bytes(family)
        if (
            not 0 < len(family) <= MAX_FAMILY_BYTES
            or family.startswith(b".")
            or family == _RESERVED_FAMILY
            or not _ILLEGAL_IN_FAMILY.isdisjoint(family)
        ):
            return "bad_family_name", f"{shown!r} can not be the name of a family"
        if (self._allow is not None and family not in self._allow) or family in self._deny:
            return "family_not_allowed", f'the family "{shown}" may not be written by this sink'
        if self._fullmatch is not None and self._fullmatch(qualifier) is None:
            return "bad_column_name", f"the qualifier {name_from_bytes(qualifier)!r} does not match `name_pattern`"
        return None


def refuse_own_families(settings: SinkSettings, places: Iterable[tuple[tuple[str | int, ...], bytes]]) -> None:
    """
    Check the families that a sink's own options name.

    Args:
        settings: with the `families` it allows and denies.
        places: path of each option, and the family it names.

    Raises:
        ValidationError: they can not exist, or `families` keeps the sink from writing them.
    """
    # `name_pattern` is for names out of events
    guard = NameGuard(settings.families, settings.columns.model_copy(update={"name_pattern": None}))
    refused = [
        InitErrorDetails(type=PydanticCustomError("conflict", "{why}", about), loc=path, input=None)
        for path, family in places
        if (about := _about(guard.refusal(family, b""))) is not None
    ]
    if refused:
        raise ValidationError.from_exception_data("families", refused)


def _about(refusal: Refusal | None) -> dict[str, str] | None:
    if refusal is None:
        return None
    code, message = refusal
    hint = "see `families: allow` and `deny`" if code == "family_not_allowed" else "as in family: web"
    return {"why": message, "hint": hint}


def size_guard(columns: ColumnOptions) -> Callable[[Mapping[bytes, bytes]], None] | None:
    """A check of the cells of one event, None when there is no limit."""
    max_cells, max_bytes = columns.max_per_row, columns.max_value_bytes
    if max_cells is None and max_bytes is None:
        return None

    def check(cells: Mapping[bytes, bytes]) -> None:
        if max_cells is not None and len(cells) > max_cells:
            raise MappingError(
                f"{len(cells)} cells in one row, allowed are {max_cells}",
                code="too_many_columns",
                hint="raise `columns: max_per_row`",
            )
        if max_bytes is not None:
            for column, value in cells.items():
                if len(value) > max_bytes:
                    raise MappingError(
                        f"the value of {name_from_bytes(column)!r} has {len(value)} bytes, allowed are {max_bytes}",
                        code="value_too_large",
                        hint="raise `columns: max_value_bytes`, or cut it before with `truncate`",
                    )

    return check
