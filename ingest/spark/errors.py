"""
Translates Spark's exceptions into errors of this product, by the class names in their text.

Exceptions of tasks and of the JVM arrive only as text.
"""

import errno
import re

from py4j.protocol import Py4JError

from ingest.api import IngestError, PositionLostError, SourceUnavailableError
from ingest.dead_letters.buffer import dead_letters_too_large
from ingest.durable import unusable

JVM_GONE = (Py4JError, OSError)
"""Raised by a call to a JVM that has ended or ends meanwhile."""
_LOST = re.compile(
    r"(KafkaIllegalStateException|OffsetOutOfRangeException|Some data may have been (lost|missed)|"
    r"partitions are gone|Partition .* offset was changed)"
)
_UNAVAILABLE = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(TimeoutException|DisconnectException|NetworkException|"
    r"BrokerNotAvailableException|NotLeaderOrFollowerException|LeaderNotAvailableException|"
    r"CoordinatorNotAvailableException|RetriableException)"
    r"|Failed to construct kafka consumer|No resolvable bootstrap urls"
    r"|Failed to create new KafkaAdminClient"
    r"|Cannot fetch record .* Timeout|Timeout of \d+ms expired|TimeoutException: (Call|Failed to get)"
)


_DISK = re.compile(
    r"(?:IOException: |OSError: \[Errno \d+\] )"
    r"(?:(?P<full>No space left on device|Disk quota exceeded)|Input/output error)"
)
_HDFS_AWAY = re.compile(
    r"Call From \S+ to \S+ failed on |End of File Exception between local host|SafeModeException: "
    r"|org\.apache\.hadoop\.(ipc\.(StandbyException|RetriableException)|net\.ConnectTimeoutException): "
    r"|could only be written to \d+ of the \d+ minReplication nodes|BlockMissingException: "
    r"|All datanodes .* are bad"
)
_OWN = re.compile(r"(PositionLostError|SourceUnavailableError): (.+)")
_TOO_LARGE = "bigger than spark.driver.maxResultSize"
_LATE = "Python worker failed to connect back"


class WorkerLateError(SourceUnavailableError):
    """A Python process of Spark took more than 10 seconds, Spark's limit, to start and connect."""

    code = "worker_late"
    remedy = "End other programs on the machine, or give it more cores; the service tries again by itself."


class JvmLostError(IngestError):
    """Spark's JVM has exited; unacknowledged batches run again after a restart."""

    code = "jvm_lost"
    remedy = "Start the service again; raise the driver's memory if the system killed the process."


class JvmUnresponsiveError(SourceUnavailableError):
    """Spark's JVM does not respond: it is stopped, short of CPU time, or out of memory."""

    code = "jvm_unresponsive"
    hint = "check the machine's memory and load; end other programs, or run this one with fewer pipelines"


def translated(error: BaseException) -> IngestError | None:
    """
    The error that an exception of Spark stands for; None if the exception has no translation.

    Source: messages of Spark's KafkaMicroBatchStream and KafkaDataConsumer, exceptions of Kafka's and Hadoop's clients.
    """
    text = str(error)
    own = _OWN.findall(text)
    if own:
        # raised in a task or by our reader: its message and hint, without the stack trace around them
        name, message = own[-1]
        return (PositionLostError if name == "PositionLostError" else SourceUnavailableError)(message.strip())
    files = _of_files(text)
    if files is not None:
        return files
    lost = _LOST.search(text)
    if lost is not None:
        return PositionLostError(
            f"records that were not read yet are gone: {_line_at(text, lost.start())}",
            hint="check the topic's retention; to resume with the remaining records: "
            "'attr2hbase offsets reset --to remaining'",
        )
    unavailable = _UNAVAILABLE.search(text)
    if unavailable is not None:
        return SourceUnavailableError(f"Kafka does not answer: {_line_at(text, unavailable.start())}")
    return _of_limits(text)


def _of_limits(text: str) -> IngestError | None:
    """The error of a limit of Spark, if the text has one."""
    if _TOO_LARGE in text:
        return dead_letters_too_large("the dead letters of one micro-batch do not fit in the driver")
    if _LATE in text:
        return WorkerLateError(
            "a Python process of Spark did not connect within 10 s, Spark's limit",
            hint="the machine is overloaded: end other programs, or run this one with fewer pipelines",
        )
    return None


def _of_files(text: str) -> IngestError | None:
    """The error of a disk or of HDFS, if the text has one."""
    disk = _DISK.search(text)
    if disk is not None:
        number = errno.EIO if disk["full"] is None else errno.ENOSPC
        return unusable("Spark or one of its tasks cannot write", number, _line_at(text, disk.start()))
    away = _HDFS_AWAY.search(text)
    if away is not None:
        return unusable("Spark cannot use HDFS", errno.EHOSTUNREACH, _line_at(text, away.start()))
    return None


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    stop = text.find("\n", place)
    return text[start : stop if stop >= 0 else None].strip()[:500]
