"""Codes of events that cannot be mapped to cells, and their meaning."""

from ingest import api

MAPPING_CODES = {
    "bad_column_name": (api.MappingError, "A qualifier does not match `columns: name_pattern` of the sink."),
    "bad_family_name": (api.MappingError, "HBase does not allow a family of the name that an attribute has."),
    "bad_table_name": (api.MappingError, "The template of the table rendered an invalid table name."),
    "bad_timestamp": (
        api.MappingError,
        "The event's time cannot be a cell timestamp: it is before 1970, or exceeds 64 bits.",
    ),
    "change_too_large": (
        api.MappingError,
        "The change of a row is larger than 8 MiB, the maximum that a feed stores.",
    ),
    "delete_at_zero": (api.MappingError, "A delete has the timestamp before the event's, and 0 has none before it."),
    "delete_of_updates": (
        api.MappingError,
        "A rule deletes a row, family or column of a table with deferred updates.",
    ),
    "empty_row_key": (api.MappingError, "The template of the row key rendered empty text."),
    "family_not_allowed": (
        api.MappingError,
        "`families: allow` or `deny` of the sink excludes the family of an attribute.",
    ),
    "no_row_key": (
        api.MappingError,
        "The event has no attribute for the row key; see on_missing_key of attr2hbase, on_missing in hbase's row_key.",
    ),
    "not_mergeable": (api.MappingError, "A value cannot be added to the update of its column, as beyond 64 bits."),
    "row_key_too_long": (api.MappingError, "The row key has more than HBase's limit of 32767 bytes."),
    "sink_timeout": (
        api.MappingError,
        "A sink's condition or mapping exceeded its time limit for this event, most likely a pattern that backtracks.",
    ),
    "too_many_columns": (api.MappingError, "The event has more cells than columns: max_per_row allows."),
    "unknown_table": (
        api.MappingError,
        "The event's table does not exist, and the store does not create tables.",
    ),
    "value_too_large": (api.MappingError, "A value is larger than columns: max_value_bytes allows."),
}
