"""What a check of a blob store finds."""

from sinks.blobs.blob_store import BlobStore
from sinks.blobs.checking import Finding


def findings(blobs: BlobStore, *, is_repair: bool = False) -> list[Finding]:
    """What is damaged, orphaned or dangling, without the progress of the check."""
    return [each for each in blobs.checked(is_repair=is_repair) if isinstance(each, Finding)]
