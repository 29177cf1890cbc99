"""
Records that a source could not read, on their way from its reader to a task: one record in their place.

It has no value and one header, as JSON. Only a source whose own records have no headers may return such a record
(`Decoding.has_unread`), so that no producer can make one.
"""

import orjson

from ingest.api import Record, RecordPlace, UnreadError

_HEADER = "unread"


def unread_record(place: RecordPlace, timestamp_ms: int, error: UnreadError) -> Record:
    """
    The record in place of those that could not be read.

    Args:
        place: of the first of them, or a lower one that is above that of the last record before them.
        timestamp_ms: of the records, for their dead letter.
        error: why they could not be read.
    """
    about = {name: getattr(error, name) for name in ("code", "message", "end", "is_certain", "read_before")}
    return Record(*place, b"", None, timestamp_ms, ((_HEADER, orjson.dumps(about)),))


def unread_error(record: Record) -> UnreadError:
    """The error that `unread_record` was given."""
    ((_, about),) = record.headers
    return UnreadError(**orjson.loads(about or b""))
