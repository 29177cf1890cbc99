"""Errors of reading a change feed."""

from ingest.api import ConfigError, ConflictError, NotFoundError


class FeedDisabledError(NotFoundError):
    """
    A table has no change feed, or its feed has been closed, or has not begun.

    Args:
        table: its name.
        is_declared: the pipeline file declares its feed, which has not begun.
    """

    code = "feed_disabled"

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


class FeedIdMismatchError(NotFoundError):
    """An iterator or a group is of an earlier feed of a table, or of another table."""

    code = "feed_id_mismatch"

    def __init__(self, table: str, requested: str, present: str) -> None:
        super().__init__(
            f'feed "{requested}" is not the change feed of table "{table}", which is "{present}"',
            hint="a feed that was closed and declared again is a new one; changes between the two are in no feed, "
            "so load the table, or a dump of it, and start with new iterators or another group",
        )


class ShardNotFoundError(NotFoundError):
    """A feed has no shard of this number."""

    code = "shard_not_found"


class InvalidIteratorError(ConfigError):
    """A text is not an iterator, or an iterator cannot be created from the arguments."""

    code = "invalid_iterator"


class TrimmedError(NotFoundError):
    """
    Changes after the position of an iterator have expired.

    Attributes:
        oldest: sequence of the oldest change of the shard that can be read; None if there is none yet.
    """

    code = "trimmed"

    def __init__(self, table: str, shard: int, oldest: str | None) -> None:
        super().__init__(
            f'changes of shard {shard} of table "{table}" after this position have expired; '
            + ("the shard has no newer ones" if oldest is None else f"the oldest one that is left is {oldest}"),
            hint="load a dump of the table, which names the positions to resume at; or continue with TRIM_HORIZON, "
            "which leaves a gap",
        )
        self.oldest = oldest


class ParentUnknownError(NotFoundError):
    """It is unknown how far a consumer group has read a shard, because the lease of the shard is missing."""

    code = "parent_unknown"

    def __init__(self, group: str, shard: int) -> None:
        super().__init__(
            f'group "{group}" has no lease of shard {shard}, so it is unknown how far it has read that shard; '
            "it and the shards that follow it are not read, the others are",
            hint="restore the lease, or read the feed with another group",
        )


class ShardLeaseLostError(ConflictError):
    """A worker of a consumer group has lost the lease of a shard, which it has not renewed in time."""

    code = "shard_lease_lost"

    def __init__(self, group: str, shard: int, owner: str) -> None:
        by = f'worker "{owner}" has taken it over' if owner else "it was not renewed for 20 seconds"
        super().__init__(
            f'the lease of shard {shard} in group "{group}" is lost: {by}',
            hint="the changes since the last checkpoint are delivered again by the worker that has the lease",
        )


class WorkerReplacedError(ConflictError):
    """Another process has started as the same worker of a consumer group."""

    code = "feed_worker_replaced"

    def __init__(self, group: str, worker: str) -> None:
        super().__init__(
            f'another process has started as worker "{worker}" of group "{group}", and has its shards',
            hint="give each worker a name of its own, or leave the name out",
        )


class GroupRemovedError(ConflictError):
    """A consumer group was removed while one of its workers was running."""

    code = "feed_group_removed"

    def __init__(self, group: str) -> None:
        super().__init__(
            f'group "{group}" was removed while this worker was running',
            hint="start the worker again if the group should begin anew",
        )
