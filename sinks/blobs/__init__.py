"""
Blobs: values that are too large for a cell, in blocks of a table of their own, stored once for each content.

The id of a blob is the SHA-256 of its bytes. A blob store has three tables; the decision is docs/adr/0048.
"""

from ingest.api.feature_surface import FeatureSurface, FunctionWord, GroupWord, JobWord

SURFACE = FeatureSurface(
    commands={
        "Use the tables": {
            "blob": GroupWord(
                "Store and read blobs, large values of a table.",
                {
                    "put": JobWord("Store a blob, and print its id.", "blob-put"),
                    "get": FunctionWord("Write a blob to a file or to stdout.", "ingest.cli.blob:get"),
                    "stat": FunctionWord("Show the status of a blob and what refers to it.", "ingest.cli.blob:stat"),
                    "pin": JobWord("Add a reference to a blob.", "blob-pin"),
                    "unpin": JobWord("Remove a reference from a blob.", "blob-unpin"),
                },
                GroupWord(
                    "Blobs.",
                    {
                        "sweep": JobWord("Delete the blobs that nothing refers to.", "blob-sweep"),
                        "check": JobWord("Compare all blobs with their ids.", "blob-check"),
                    },
                ),
            )
        }
    },
    jobs={
        "blob-sweep": "ingest.service.rewriting.blob_sweep:BlobSweep",
        "blob-check": "ingest.service.rewriting.blob_check:BlobCheck",
        "blob-put": "ingest.service.rewriting.blob_put:BlobPut",
        "blob-pin": "ingest.service.rewriting.blob_put:BlobPin",
        "blob-unpin": "ingest.service.rewriting.blob_put:BlobUnpin",
    },
    metrics="sinks.blobs.metrics:METRICS",
)
