"""Readable forms of bytes."""

from ingest.api.notation import readable

__all__ = ["readable"]
