"""Codes of events that cannot be mapped to cells, and their meaning."""

from ingest.api import MappingError

_MEANINGS = {
    "bad_column_name": "A qualifier does not match `columns: name_pattern` of the sink.",
    "bad_family_name": "HBase does not allow a family of the name that an attribute has.",
    "bad_table_name": "The template of the table rendered an invalid table name.",
    "bad_timestamp": "The event's time cannot be a cell timestamp: it is before 1970, or exceeds 64 bits.",
    "change_too_large": "The change of a row is larger than 8 MiB, the maximum that a feed stores.",
    "delete_at_zero": "A delete has the timestamp before the event's, and 0 has none before it.",
    "delete_of_updates": "A rule deletes a row, family or column of a table with deferred updates.",
    "empty_row_key": "The template of the row key rendered empty text.",
    "family_not_allowed": "`families: allow` or `deny` of the sink excludes the family of an attribute.",
    "no_row_key": "The event has no attribute for the row key, or the record no key; see on_missing_key of attr2hbase, "
    "on_missing in hbase's row_key.",
    "not_mergeable": "A value cannot be added to the update of its column, as beyond 64 bits.",
    "row_key_too_long": "The row key has more than HBase's limit of 32767 bytes.",
    "sink_timeout": "A sink's condition or mapping exceeded its time limit for this event, most likely a pattern that "
    "backtracks.",
    "too_many_columns": "The event has more cells than columns: max_per_row allows.",
    "unknown_table": "The event's table does not exist, and the store does not create tables.",
    "value_too_large": "A value is larger than columns: max_value_bytes allows.",
}
MAPPING_CODES = {code: (MappingError, meaning) for code, meaning in _MEANINGS.items()}
