"""Errors of tasks, which return them as plain data: Spark passes on only the text of an exception."""

from collections.abc import Mapping
from typing import Any

from ingest.api import Disposition, IngestError


class TaskError(IngestError):
    """A task of a background job on Spark failed with an error that has no code of its own."""

    code = "task_failed"
    remedy = "Follow the message; then run the command again."


class TaskUnavailableError(TaskError):
    """A Spark job failed, for example because one of its processes was killed."""

    code = "spark_job_failed"
    disposition = Disposition.RETRY
    remedy = "Read the log of Spark; a job is repeated."


def plain_error(error: IngestError) -> dict[str, Any]:
    """An error as plain data, for `error_of`."""
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_code": error.exit_code,
        "is_retryable": error.disposition is Disposition.RETRY,
    }


def error_of(content: Mapping[str, Any]) -> IngestError:
    """The error of what `plain_error` returned."""
    kind = TaskUnavailableError if content["is_retryable"] else TaskError
    error = kind(content["message"], code=content["code"], hint=content["hint"])
    error.exit_code = content["exit_code"]
    return error
