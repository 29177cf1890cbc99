"""The owner of a table with deferred updates or with a change feed: the one pipeline that writes all of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ingest.api import ConflictError, Store, TableSpec
from ingest.api.table_feature import TableFeature
from ingest.formats.times import moment
from sinks.owning.committed_position import OWNER


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


def refuse_other_owner(
    properties: Mapping[str, str], spec: TableSpec, pipeline: str, features: Iterable[TableFeature[Any]]
) -> None:
    """
    Check that no other pipeline owns a table.

    Args:
        properties: of the table.
        spec: its declaration.
        pipeline: name of the pipeline that is to write it.
        features: all of them.

    Raises:
        ConflictError: another pipeline owns it.
    """
    owner = properties.get(OWNER)
    if owner in (None, pipeline):
        return
    owning = [feature for feature in features if feature.has_owner]
    # a property of the name of the feature records it
    needing = [each for each in owning if each.name in properties] or [each for each in owning if each.is_in(spec)]
    if needing:
        raise OtherOwnerError(
            f'pipeline "{owner}" owns table "{spec.name}" with its {needing[0].words.removeprefix("a ")}',
            hint=f'if "{owner}" has ended for good, run with --take-over; else use another table',
        )


def release(store: Store[Any], table: str, owning: Collection[str]) -> None:
    """
    Let a table have no owner, unless another feature needs it.

    Args:
        store: open for writing.
        table: its name.
        owning: names of the other features whose tables have an owner.
    """
    found = store.properties(table)
    if found.keys().isdisjoint(owning):
        store.set_property(table, OWNER, found.get(OWNER), None)


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
