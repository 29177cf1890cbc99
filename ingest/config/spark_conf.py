"""Spark properties that the pipelines depend on."""

from pydantic_core import PydanticCustomError

REQUIRED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    # live pipelines, compiled patterns and store connections stay in the worker process
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # a first batch that was killed during planning leaves part of a file, which must not prevent a restart;
    # `Checkpoint` verifies the folder
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
    # functions above it would be broadcast anew for each job; see `ingest.spark.shipping`
    "spark.broadcast.UDFCompressionThreshold": str(1 << 20),
    # speculation would write every slow partition twice
    "spark.speculation": "false",
}
"""Property -> the only value with which the pipelines work."""


def checked(conf: dict[str, str]) -> dict[str, str]:
    """
    Properties as a user sets them, without one that the pipelines depend on.

    Raises:
        PydanticCustomError: one of them has another value than the pipelines need.
    """
    for name, value in conf.items():
        needed = REQUIRED.get(name, value)
        if needed != value:
            about = {"name": name, "value": value, "hint": f'remove it: the pipelines need "{needed}"'}
            raise PydanticCustomError("conflict", 'spark.conf may not set "{name}" to "{value}"', about)
    return conf
