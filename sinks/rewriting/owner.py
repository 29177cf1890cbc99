"""The owner of a table with deferred updates or with a change feed: the one pipeline that writes all of them."""

from collections.abc import Mapping, Sequence

from ingest.api import ConflictError, TableSpec
from ingest.api.feeds import FEED
from ingest.formats.times import moment
from sinks.rowkeys.row_format import UPDATES
from sinks.updates.committed_position import OWNER


class CommittedPositionsDifferError(ConflictError):
    """The tables with deferred updates of a pipeline without a checkpoint are complete up to different offsets."""

    code = "committed_positions_differ"
    hint = (
        "restore the checkpoint of the pipeline; or remove the tables that were not written to the end from its sinks"
    )


class OtherOwnerError(ConflictError):
    """Another pipeline owns a table with deferred updates or a change feed: it alone knows what is complete."""

    code = "other_owner"
    remedy = "Write to another table. If the other pipeline has ended for good, run with `--take-over`."


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
        raise OtherOwnerError(
            f'pipeline "{owner}" owns table "{spec.name}" with its {what}',
            hint=f'if "{owner}" has ended for good, run with --take-over; else use another table',
        )


def lost(
    table: str, pipeline: str, *, owner: str | None = None, written: int | None = None, updated: Sequence[str] = ()
) -> ConflictError:
    """
    The error of a pipeline whose table another process writes.

    Args:
        table: its name.
        pipeline: name of the pipeline that has lost it.
        owner: of the table now; None if it is not known.
        written: time in ms of the micro-batch that this process has written last: it counts as soon as the committed
            position of the other process is past it; None for none.
        updated: the tables with deferred updates.
    """
    if owner == pipeline:
        who, hint = (
            "another process that runs it, with another state_dir, has moved its committed position",
            "end one of the two",
        )
    else:
        who, hint = "another one has taken it over", "end one of the two pipelines; run the other with --take-over"
    if written is not None and updated:
        time = moment(written)
        commands = ", ".join(f"'attr2hbase rollback {name} --from {time} --to {time}'" for name in updated)
        hint += (
            f". This process has written a micro-batch at {time}, whose events the other one counts too: when the "
            f"committed position is past it, take it back with {commands}"
        )
    return OtherOwnerError(
        f'pipeline "{pipeline}" no longer owns table "{table}": {who}',
        hint=hint,
    )
