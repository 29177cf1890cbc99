"""Error codes of deferred updates and of stored records: what raises them, and their meaning."""

from ingest import api
from ingest.durable.record import UnreadableRecordError

UPDATE_CODES: dict[str, tuple[type[api.IngestError], str]] = {
    "batch_shown": (
        api.ConflictError,
        "Readers of a feed may have deferred updates of the last micro-batch, and it would write them at another time.",
    ),
    "behind_committed_position": (
        api.ConflictError,
        "The checkpoint is behind the committed positions of tables with deferred updates, as one that was restored.",
    ),
    "committed_positions_differ": (
        api.ConflictError,
        "The tables with deferred updates of a pipeline without a checkpoint are complete up to different offsets.",
    ),
    "read_before": (
        api.ConflictError,
        "Lines of a file were read before it changed, so tables with deferred updates may have counted them.",
    ),
    "replay_unfinished": (
        api.ConflictError,
        "A replay into deferred updates or a change feed is not finished; the pipeline and rollbacks wait for it.",
    ),
    "unreadable_record": (
        UnreadableRecordError,
        "A stored record, such as the committed position of a table, is damaged, or a later version has written it.",
    ),
}
