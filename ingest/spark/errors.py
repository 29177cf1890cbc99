"""
What Spark's exceptions mean, told by the classes named in their text.

Exceptions of tasks and of the JVM arrive as text alone.
"""

import errno
import re

from ingest.api import IngestError, PositionLostError, SourceUnavailableError
from ingest.dead_letters.letters import too_many_dead_letters
from ingest.durable import unusable

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
_OWN = re.compile(r"(PositionLostError|SourceUnavailableError): (.+)")
_TOO_LARGE = "bigger than spark.driver.maxResultSize"


def translated(error: BaseException) -> IngestError | None:
    """
    The source's condition behind an exception of Spark, or None when it is none of ours.

    Source: Spark's KafkaMicroBatchStream and KafkaDataConsumer name lost data so; Kafka's clients name the rest.
    """
    text = str(error)
    own = _OWN.findall(text)
    if own:
        # raised in a task or by our reader: its own message and way out, without the trace around it
        name, message = own[-1]
        return (PositionLostError if name == "PositionLostError" else SourceUnavailableError)(message.strip())
    disk = _DISK.search(text)
    if disk is not None:
        number = errno.EIO if disk["full"] is None else errno.ENOSPC
        return unusable("Spark or one of its tasks cannot write", number, _sentence(text, disk.start()))
    lost = _LOST.search(text)
    if lost is not None:
        return PositionLostError(
            f"records that were not read yet are gone: {_sentence(text, lost.start())}",
            hint="look at the topic's retention; to go on with what is left, move the checkpoint away and run "
            "'ingest run --start-from earliest'",
        )
    if _TOO_LARGE in text:
        return too_many_dead_letters("the dead letters of one micro-batch do not fit in the driver")
    unavailable = _UNAVAILABLE.search(text)
    if unavailable is not None:
        return SourceUnavailableError(f"Kafka does not answer: {_sentence(text, unavailable.start())}")
    return None


def _sentence(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    stop = text.find("\n", place)
    return text[start : stop if stop >= 0 else None].strip()[:500]
