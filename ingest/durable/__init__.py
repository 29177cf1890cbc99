"""
State that survives kill -9, a full disk and a power cut, in a local folder or in the file system of a cluster.

- `files`: written completely or not at all
- `append_log`: a file of lines that only grows
- `remote`: paths in the file system of a cluster
- `lock`: one process of this machine at a time
- `register`: a text that is replaced with compare-and-set
- `lease`: one process of several machines at a time, until its heartbeats end
- `record`: values that are stored as JSON, with the number of their format
- `marker`: a fact that is recorded once
- `exchange`: two folders that exchange their paths
"""

from ingest.durable.files import (
    append_durably,
    create_durably,
    file_errors,
    link_new,
    make_folder,
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
    "file_errors",
    "link_new",
    "make_folder",
    "open_private",
    "private_files",
    "sync_folder",
    "unusable",
    "write_durably",
]
