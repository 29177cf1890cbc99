"""The error in place of records that a source could not read."""

from ingest.api.errors import EventError


class UnreadError(EventError):
    """
    A source could not read its records from a place on; their dead letter is the place, without their bytes.

    Attributes:
        end: offset at which these records end, above that of the last one; None if it is not known.
        is_certain: whether each attempt at the micro-batch finds the same; False if an earlier one may have read them.
        read_before: whether records at these offsets were read in an earlier micro-batch, such as lines of a file that
            was replaced.
    """

    code = "unread"
    remedy = "Repair what the source reads; then replay the dead letters."

    def __init__(
        self,
        message: str,
        *,
        end: int | None = None,
        is_certain: bool = True,
        read_before: bool = False,
        code: str | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.end = end
        self.is_certain = is_certain
        self.read_before = read_before
