"""Translation of Spark's exceptions."""

import pytest

from ingest.api import Disposition
from ingest.spark.errors import translated

CASES = [
    (
        "org.apache.spark.sql.kafka010.KafkaIllegalStateException: Some data may have been lost because they are gone",
        "position_lost",
        Disposition.STOP,
    ),
    (
        "Added partition ticks-4 starts from 5 instead of 0. Some data may have been missed.",
        "position_lost",
        Disposition.STOP,
    ),
    (
        "Caused by: org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position out of range",
        "position_lost",
        Disposition.STOP,
    ),
    (
        'ingest.api.errors.PositionLostError: "/logs/a" has changed since it was discovered',
        "position_lost",
        Disposition.STOP,
    ),
    (
        "OSError: [Errno 5] Input/output error\n\ningest.api.errors.SourceUnavailableError: cannot be read",
        "source_unavailable",
        Disposition.RETRY,
    ),
    (
        "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment",
        "source_unavailable",
        Disposition.RETRY,
    ),
    (
        "Caused by: java.util.concurrent.TimeoutException: Failed to get records for ticks-0",
        "source_unavailable",
        Disposition.RETRY,
    ),
    (
        "Total size of serialized results of 20 tasks is bigger than spark.driver.maxResultSize (1024.0 MiB)",
        "dead_letters_too_large",
        Disposition.STOP,
    ),
    (
        "org.apache.spark.SparkException: Python worker failed to connect back.\n\tat org.apache.spark.errors",
        "worker_late",
        Disposition.RETRY,
    ),
    ("Caused by: java.io.IOException: No space left on device", "disk_full", Disposition.RETRY),
    ("OSError: [Errno 28] No space left on device: '/state/incoming/1.puts'", "disk_full", Disposition.RETRY),
    ("OSError: [Errno 5] Input/output error", "disk_failed", Disposition.STOP),
    (
        "java.net.ConnectException: Call From a/10.0.0.1 to b:8020 failed on connection exception: java.net.Con",
        "state_unavailable",
        Disposition.RETRY,
    ),
    (
        "Call From a/10.0.0.1 to b:8020 failed on socket exception: java.net.SocketException: Connection reset",
        "state_unavailable",
        Disposition.RETRY,
    ),
    (
        "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create file/state.",
        "state_unavailable",
        Disposition.RETRY,
    ),
]


@pytest.mark.parametrize(("text", "code", "disposition"), CASES, ids=[f"{case[1]}-{n}" for n, case in enumerate(CASES)])
def test_exception_is_translated_by_its_text(text: str, code: str, disposition: Disposition):
    found = translated(RuntimeError(f"Job aborted due to stage failure\n{text}\n\tat org.apache.spark…"))
    assert found is not None
    assert (found.code, found.disposition) == (code, disposition)


def test_error_of_our_reader_keeps_its_message():
    text = (
        "    raise PositionLostError(\n"
        'ingest.api.errors.PositionLostError: "/logs/a" has changed since it was discovered; use a new file\n'
        "\tat org.apache.spark…"
    )
    found = translated(RuntimeError(text))
    assert str(found) == '"/logs/a" has changed since it was discovered; use a new file'


def test_other_exceptions_are_not_translated():
    assert translated(RuntimeError("Python worker exited unexpectedly (crashed)")) is None
