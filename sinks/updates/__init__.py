"""
Deferred updates: rows that are appended and merged, instead of read, modified and written.

`keys` are the row keys of update rows. `merging` merges columns with a processor; `processors` has the built-in ones,
and `numbers` what they share. `groups` merges the update rows of one logical row, as a read does. `compaction` and
`rollback` say which rows to write and to delete. Nothing here reads or writes a store.
"""

from ingest.api.feature_surface import FeatureSurface, FunctionWord, JobWord

SURFACE = FeatureSurface(
    commands={
        "Use the tables": {
            "history": FunctionWord(
                "Show the updates of one row, and its values after each.", "ingest.cli.history:history"
            )
        },
        "Look after them": {
            "compact": JobWord("Merge the updates of each row of a table.", "compaction"),
            "rollback": JobWord("Take the updates of an interval back.", "rollback"),
        },
    },
    jobs={
        "compaction": "ingest.service.rewriting.compaction:Compaction",
        "rollback": "ingest.service.rewriting.rollback:Rollback",
    },
    metrics="sinks.updates.metrics:METRICS",
)
