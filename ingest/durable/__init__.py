"""
State in a local folder that survives kill -9, a full disk and a power cut.

- `files`: written completely or not at all
- `append_log`: a file of lines that only grows
- `lock`: one process at a time
- `marker`: a fact that is recorded once
- `lease`: an ownership with a heartbeat, which others may take over
- `pin`: keeps an entry while it is read
- `retention`: chooses and removes old entries
"""

from ingest.durable.files import (
    create_durably,
    make_folder,
    on_disk,
    open_private,
    private_files,
    sync_folder,
    unusable,
    write_durably,
)

__all__ = [
    "create_durably",
    "make_folder",
    "on_disk",
    "open_private",
    "private_files",
    "sync_folder",
    "unusable",
    "write_durably",
]
