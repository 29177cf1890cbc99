"""
State that survives kill -9, a full disk and a power cut, in a local folder or in the file system of a cluster.

- `files`: written completely or not at all
- `append_log`: a file of lines that only grows
- `remote`: paths in the file system of a cluster
- `lock`: one process at a time
- `marker`: a fact that is recorded once
- `lease`: an ownership with a heartbeat, which others may take over
- `pin`: keeps an entry while it is read
- `retention`: chooses and removes old entries
"""

from ingest.durable.files import (
    append_durably,
    create_durably,
    make_folder,
    on_disk,
    open_private,
    private_files,
    sync_folder,
    unusable,
    write_durably,
)
from ingest.durable.remote import RemotePath, StatePath

__all__ = [
    "RemotePath",
    "StatePath",
    "append_durably",
    "create_durably",
    "make_folder",
    "on_disk",
    "open_private",
    "private_files",
    "sync_folder",
    "unusable",
    "write_durably",
]
