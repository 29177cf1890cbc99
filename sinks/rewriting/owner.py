"""The owner of a table with deferred updates or with a feed: the one pipeline that writes all of them."""

from collections.abc import Mapping

from ingest.api import ConflictError, TableSpec
from sinks.feed.stream import FEED
from sinks.rowkeys.row_format import UPDATES
from sinks.updates.marks import OWNER


def refuse_other_owner(properties: Mapping[str, str], spec: TableSpec, pipeline: str) -> None:
    """
    Check that no other pipeline owns a table.

    Args:
        properties: of the table.
        spec: its declaration.
        pipeline: name of the pipeline that is to write it.

    Raises:
        ConflictError: another pipeline owns it.
    """
    owner = properties.get(OWNER)
    needs_owner = spec.updates or spec.feed or UPDATES in properties or FEED in properties
    if needs_owner and owner not in (None, pipeline):
        what = "deferred updates" if UPDATES in properties else "feed"
        raise ConflictError(
            f'pipeline "{owner}" owns table "{spec.name}" with its {what}',
            code="other_owner",
            hint=f'if "{owner}" has ended for good, run with --take-over; else use another table',
        )
