"""Limits of HBase and of the options on row keys, families, columns and cell times."""

from collections.abc import Callable, Iterable, Mapping

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from ingest.api import MAX_ROW_KEY_BYTES, MAX_TIME_MS, MappingError, family_rejection
from ingest.api.event_errors import RowKeyTooLongError
from ingest.api.notation import name_from_bytes
from sinks.mapping.mapper import ColumnOptions, FamilyOptions, MapperSettings


class BadColumnNameError(MappingError):
    """A qualifier does not match `columns: name_pattern` of the sink."""

    code = "bad_column_name"
    hint = "widen `columns: name_pattern`, or rename the attribute"


class BadFamilyNameError(MappingError):
    """HBase does not allow a family of the name that an attribute has."""

    code = "bad_family_name"
    remedy = "Rename the attribute in the decorator; then replay."


class BadTimestampError(MappingError):
    """The event's time cannot be a cell timestamp: it is before 1970, or exceeds 64 bits."""

    code = "bad_timestamp"
    hint = "set a time after 1970, or set `timestamp: batch`"


class EmptyRowKeyError(MappingError):
    """The template of the row key rendered empty text."""

    code = "empty_row_key"
    hint = "add a part to the row key that every event has"


class FamilyNotAllowedError(MappingError):
    """`families: allow` or `deny` of the sink excludes the family of an attribute."""

    code = "family_not_allowed"
    remedy = "Add it to `families: allow` of the sink, or correct the attribute; then replay."


class NoRowKeyError(MappingError):
    """
    The event has no attribute for the row key, or the record no key; see on_missing_key of attr2hbase, on_missing in
    hbase's row_key.
    """

    code = "no_row_key"
    dropped = "The event has no row key, with `on_missing_key: drop` of the sink."
    remedy = "Set the row key for every event, or configure the sink to drop such events."


class TooManyColumnsError(MappingError):
    """The event has more cells than columns: max_per_row allows."""

    code = "too_many_columns"
    hint = "raise `columns: max_per_row`"


class ValueTooLargeError(MappingError):
    """A value is larger than columns: max_value_bytes allows."""

    code = "value_too_large"
    hint = "raise `columns: max_value_bytes`, or shorten it with `truncate`"


def check_row_key(row: bytes) -> None:
    """
    Refuse a row key that HBase does not allow.

    Raises:
        MappingError: it is empty or too long.
    """
    if not row:
        raise EmptyRowKeyError("the row key is empty")
    if len(row) > MAX_ROW_KEY_BYTES:
        raise RowKeyTooLongError(f"the row key has {len(row)} bytes, HBase allows {MAX_ROW_KEY_BYTES}")


def check_time(timestamp_ms: int) -> None:
    """
    Refuse a cell time that HBase does not allow.

    Raises:
        MappingError: it is negative or too large.
    """
    if not 0 <= timestamp_ms <= MAX_TIME_MS:
        raise BadTimestampError(f"{timestamp_ms} ms is not a valid timestamp of a cell")


class NameGuard:
    """Which families and columns may be written; called once for each name, so it may be slow."""

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
        bad = self.rejection(family, qualifier)
        if bad is not None:
            raise bad
        return family + b":" + qualifier

    def rejection(self, family: bytes, qualifier: bytes) -> MappingError | None:
        """Why an event with this column cannot be written; None if it can."""
        shown = name_from_bytes(family)
        if (hint := family_rejection(family)) is not None:
            return BadFamilyNameError(f"{shown!r} cannot be the name of a family", hint=hint)
        if (self._allow is not None and family not in self._allow) or family in self._deny:
            message = f'the family "{shown}" may not be written by this sink'
            return FamilyNotAllowedError(message, hint="see `families: allow` and `deny`")
        if self._fullmatch is not None and self._fullmatch(qualifier) is None:
            message = f"the qualifier {name_from_bytes(qualifier)!r} does not match `name_pattern`"
            return BadColumnNameError(message)
        return None


def refuse_own_families(settings: MapperSettings, places: Iterable[tuple[tuple[str | int, ...], bytes]]) -> None:
    """
    Check the families that a sink's own options name.

    Args:
        settings: with the `families` it allows and denies.
        places: path of each option, and the family it names.

    Raises:
        ValidationError: HBase does not allow a family of that name, or `families` denies it.
    """
    # `name_pattern` applies only to names from events
    guard = NameGuard(settings.families, settings.columns.model_copy(update={"name_pattern": None}))
    refused = [
        InitErrorDetails(type=PydanticCustomError("conflict", "{why}", about), loc=path, input=None)
        for path, family in places
        if (bad := guard.rejection(family, b"")) and (about := {"why": bad.message, "hint": bad.hint})
    ]
    if refused:
        raise ValidationError.from_exception_data("families", refused)


def size_guard(columns: ColumnOptions) -> Callable[[Mapping[bytes, bytes]], None] | None:
    """A check of the cells of one event; None without a limit."""
    max_cells, max_bytes = columns.max_per_row, columns.max_value_bytes
    if max_cells is None and max_bytes is None:
        return None

    def check(cells: Mapping[bytes, bytes]) -> None:
        if max_cells is not None and len(cells) > max_cells:
            raise TooManyColumnsError(f"{len(cells)} cells in one row; at most {max_cells} are allowed")
        if max_bytes is not None:
            for column, value in cells.items():
                if len(value) > max_bytes:
                    name = name_from_bytes(column)
                    raise ValueTooLargeError(
                        f"the value of {name!r} has {len(value)} bytes; at most {max_bytes} are allowed"
                    )

    return check
