"""Values of records that are in a blob store, in place of the dead letter."""

from typing import NamedTuple, Protocol
from urllib.parse import quote, unquote

LETTER_REFERENCE = b"dead-letter/"
"""The references of dead letters to blobs begin with this."""
_ID_DIGITS = 64


class DeadLetterBlob(NamedTuple):
    """
    Where the value of a record is that its dead letter does not contain.

    Attributes:
        table: name of the table whose blob store has it.
        id: of the blob: its SHA-256, in 64 hex digits.
        length: bytes of the blob.
    """

    table: str
    id: str
    length: int

    def is_valid(self) -> bool:
        """Whether there can be such a blob."""
        return len(self.id) == _ID_DIGITS and not set(self.id) - set("0123456789abcdef") and self.length >= 0


class DeadLetterBlobs(Protocol):
    """Puts values of records into a blob store, for the dead letters of one task."""

    @property
    def table(self) -> str:
        """Name of the table that has the blob store."""

    @property
    def threshold(self) -> int:
        """Larger values are put into the blob store, in bytes."""

    def keep(self, value: bytes, reference: bytes) -> str:
        """
        Keep a value for a dead letter; a repeated call changes nothing.

        The value is durable and has the reference before the dead letters of the micro-batch are published.

        Args:
            value: of the record.
            reference: of the dead letter.

        Returns:
            The id of the blob, in hex digits.

        Raises:
            IngestError: it cannot be stored now.
        """


def reference_of(pipeline: str, batch_time_ms: int, key: bytes) -> bytes:
    """
    The reference of a dead letter to its blob, the same in each attempt at its micro-batch.

    Args:
        pipeline: its name.
        batch_time_ms: of the micro-batch.
        key: of the dead letter.
    """
    return _of_pipeline(pipeline) + str(batch_time_ms).encode() + b"/" + key


def pipeline_of(reference: bytes) -> str | None:
    """The name of the pipeline whose dead letter has this reference; None if it is not that of a dead letter."""
    if not reference.startswith(LETTER_REFERENCE):
        return None
    name, slash, _ = reference[len(LETTER_REFERENCE) :].partition(b"/")
    return unquote(name.decode("ascii", "replace")) if slash else None


def batch_time_of(reference: bytes) -> int | None:
    """The batch time of the dead letter that has this reference, in ms; None if it is not that of a dead letter."""
    _, _, rest = reference.removeprefix(LETTER_REFERENCE).partition(b"/")
    time_ms, slash, _ = rest.partition(b"/")
    is_time = reference.startswith(LETTER_REFERENCE) and bool(slash) and time_ms.isdigit()
    return int(time_ms) if is_time else None


def _of_pipeline(pipeline: str) -> bytes:
    return LETTER_REFERENCE + quote(pipeline, safe="", errors="surrogatepass").encode() + b"/"
