"""Errors of a change feed."""

from ingest.api import ConfigError, ConflictError, NotFoundError, StoreRefusedError


class FeedDisabledError(NotFoundError):
    """
    A table has no change feed, or its feed was closed, or has not begun: a feed begins with a micro-batch.

    Args:
        table: its name.
        is_declared: the pipeline file declares its feed, which has not begun.
    """

    code = "feed_disabled"
    remedy = "Declare `feed` of the table, and start or reload the service that writes it."

    def __init__(self, table: str, *, is_declared: bool = False) -> None:
        if is_declared:
            super().__init__(
                f'the change feed of table "{table}" has not begun: it begins with the first micro-batch that the '
                "service stores",
                hint="start or reload the service that writes the table, and wait for the first micro-batch",
            )
            return
        super().__init__(
            f'table "{table}" has no change feed',
            hint=f"declare it, as in tables: {{{table}: {{feed: {{expiration: 24h}}}}}}, and start or reload the "
            "service that writes the table",
        )


class FeedUndeclaredError(StoreRefusedError):
    """A table has a change feed, and the pipeline that writes it declares none: rows would lack their changes."""

    code = "feed_undeclared"
    hint = "declare `feed` of the table; or start the pipeline that owns it without `feed`, which closes it"


def undeclared(table: str) -> FeedUndeclaredError:
    """The error of writers that leave the feed of a table out."""
    return FeedUndeclaredError(
        f'table "{table}" has a change feed, and its rows would be written without their changes',
    )


class FeedIdMismatchError(NotFoundError):
    """An iterator or a consumer group is of an earlier change feed of the table, or of another table."""

    code = "feed_id_mismatch"
    hint = (
        "a feed that was closed and declared again is a new one; changes between the two are in no feed, so load "
        "the table, or a dump of it, and start with new iterators or another group"
    )

    def __init__(self, table: str, requested: str, present: str) -> None:
        super().__init__(
            f'feed "{requested}" is not the change feed of table "{table}", which is "{present}"',
        )


class ShardNotFoundError(NotFoundError):
    """A change feed has no shard of this number."""

    code = "shard_not_found"
    hint = "'attr2hbase feed describe' lists the shards"


class InvalidIteratorError(ConfigError):
    """A text is no iterator of a change feed, or an iterator cannot be created from the arguments."""

    code = "invalid_iterator"
    remedy = "Create an iterator with `attr2hbase feed iterator`."


class TrimmedError(NotFoundError):
    """
    Changes have expired before a reader of a change feed has read them.

    Attributes:
        oldest: sequence of the oldest change of the shard that can be read; None if there is none yet.
    """

    code = "trimmed"
    hint = (
        "load a dump of the table, which names the positions to resume at; or continue with TRIM_HORIZON, which leaves "
        "a gap (`--on-trimmed skip`)"
    )

    def __init__(self, table: str, shard: int, oldest: str | None) -> None:
        super().__init__(
            f'changes of shard {shard} of table "{table}" after this position have expired; '
            + ("the shard has no newer ones" if oldest is None else f"the oldest one that is left is {oldest}"),
        )
        self.oldest = oldest


class ParentUnknownError(NotFoundError):
    """A consumer group lacks the lease of a shard, so it is unknown how far the group has read the shard."""

    code = "parent_unknown"
    hint = "restore the lease, or read the feed with another group"

    def __init__(self, group: str, shard: int) -> None:
        super().__init__(
            f'group "{group}" has no lease of shard {shard}, so it is unknown how far it has read that shard; '
            "it and the shards that follow it are not read, the others are",
        )


class ShardLeaseLostError(ConflictError):
    """Another worker of a consumer group has taken over a shard, because the lease was not renewed for 20 seconds."""

    code = "shard_lease_lost"
    remedy = (
        "None: the other worker delivers the changes since the last checkpoint again. If it is frequent, lower "
        "`--limit`, so that a page is processed in less time."
    )

    def __init__(self, group: str, shard: int, owner: str) -> None:
        by = f'worker "{owner}" has taken it over' if owner else "it was not renewed for 20 seconds"
        super().__init__(
            f'the lease of shard {shard} in group "{group}" is lost: {by}',
            hint="the changes since the last checkpoint are delivered again by the worker that has the lease",
        )


class WorkerReplacedError(ConflictError):
    """Another process has started as the same worker of a consumer group, and has its shards."""

    code = "feed_worker_replaced"
    hint = "give each worker a name of its own, or leave the name out"

    def __init__(self, group: str, worker: str) -> None:
        super().__init__(
            f'another process has started as worker "{worker}" of group "{group}", and has its shards',
        )


class GroupRemovedError(ConflictError):
    """A consumer group was removed while one of its workers ran."""

    code = "feed_group_removed"
    hint = "start the worker again if the group should begin anew"

    def __init__(self, group: str) -> None:
        super().__init__(
            f'group "{group}" was removed while this worker was running',
        )
