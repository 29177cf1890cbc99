"""Error codes of topics and of the records in them."""

from ingest import api
from ingest.api import IngestError

KAFKA_CODES: dict[str, tuple[type[IngestError], str]] = {
    "access_denied": (api.SourceError, "Kafka rejected the user, the password or the operation."),
    "bad_record": (IngestError, "A record is not valid for Kafka."),
    "group_in_use": (
        api.SourceError,
        "Other consumers are members of the pipeline's group, so its offsets cannot be committed.",
    ),
    "login_failed": (api.SourceUnavailableError, "A Kafka broker rejected the mechanism, the user or the password."),
    "record_batch_damaged": (api.SourceError, "A record batch of a topic cannot be decompressed."),
    "record_batch_too_large": (
        api.SourceError,
        "A record batch of a topic takes too much memory when it is decompressed; its records are in the topic only.",
    ),
    "record_time_refused": (
        IngestError,
        "A topic refuses a record because its time is too far from the clock of the broker.",
    ),
    "record_too_large": (
        IngestError,
        "A dead letter, or a record to produce, is larger than max.message.bytes of its topic.",
    ),
}
