"""Why events are dropped, and why a replay of dead letters leaves some: the reasons that commands and metrics show."""

DROPS = {
    "bad_encoding": "The value is not in the encoding of `convert`, with `on_invalid: drop`.",
    "bad_json": "The text is no JSON object, with `on_invalid: drop` of `json` or `flatten`.",
    "bad_pairs": "The text has no key-value pairs, with `on_invalid: drop` of `kv`.",
    "no_cells": "The event has a row key, but no attribute that becomes a cell.",
    "no_entry": "The file of `lookup` or `geoip` has no entry, with `on_not_found: drop`.",
    "no_match": "The text does not match, with `on_no_match: drop` of `regex` or `grok`.",
    "no_row_key": "The event has no row key, with `on_missing_key: drop` of the sink.",
    "no_sink": "Every sink has a `when`, and none of them is true for the event.",
    "on_error": "The event failed, with `on_error: drop`.",
    "other_partition": "A re-run of an archive leaves events of other partitions.",
    "tombstone": "The record has no value, with `tombstones: drop` of the source.",
    "unknown_family": "The table lacks the family, with `on_unknown: drop`, or a rule deletes in that family.",
}
"""Reasons of drops, without those that a `filter` has and those that are the name of a decorator."""

SKIPS = {
    "counted": "A replay has counted its events in deferred updates; --all --recount counts them again.",
    "not_in_batch": "Its micro-batch was a replay into other tables; the dead letter counts as replayed.",
    "ran_again": "The record ran again in a later micro-batch; the dead letter counts as replayed.",
    "superseded": "A later dead letter has the same place; this one counts as replayed.",
    "unread": "The records are not in the topic any more, or are larger than `max_decompressed_bytes` of the source.",
    "sink_unknown": "Deferred updates of some sinks may have the event, and it is unknown of which: no component has "
    "the name of the dead letter, or sinks without a label have moved.",
    "no_blob": "The value of the record is not in the blob store any more.",
    "runs_again": "The micro-batch is not acknowledged, and runs the record again when the pipeline runs.",
    "rolled_back": "The micro-batch was rolled back; `attr2hbase replay` runs it as a whole.",
}
"""Reasons for which `dead-letters replay` skips a dead letter."""

REMEDIES_OF_REASONS = {
    "counted": "Nothing; its events are in the table.",
    "no_blob": "Restore the blob store from a backup, then replay it.",
    "no_cells": "Set an attribute PREFIXfamily:qualifier, or `write_body` of the sink.",
    "no_sink": "Nothing, if that is intended; else add a sink without `when`.",
    "not_in_batch": "Nothing; the dead letter of the first run counts there.",
    "on_error": "Set `on_error: dead_letter` to keep such events.",
    "other_partition": "Nothing; these events are in their own partitions.",
    "ran_again": "Nothing; if its event failed again, it has a newer dead letter.",
    "rolled_back": "Run `attr2hbase replay` for the time of the micro-batch.",
    "runs_again": "Run the pipeline; it replaces the dead letter.",
    "sink_unknown": "Give the sink or decorator in which it failed the name of the dead letter as its `label`; or add "
    "`--recount`, which runs it into all sinks.",
    "superseded": "Nothing; the later dead letter is replayed.",
}
"""What to do about reasons that are no error codes."""
