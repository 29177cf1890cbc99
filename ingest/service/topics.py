"""The ids of the topics that a checkpoint's offsets belong to: a recreated topic has the same name and new records."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.api import CheckpointError, PositionLostError
from ingest.durable import on_disk, write_durably

# the group has no offsets of the new topics, and a partition without an offset is read from its beginning
_GROUP = "'ingest run --start-from group', which resumes the other topics at their offsets"


class TopicRecreatedError(PositionLostError):
    """
    A topic was deleted and recreated: acknowledged offsets point to other records, and unread records are lost.

    Attributes:
        topics: those that were recreated.
    """

    code = "topic_recreated"

    def __init__(self, topics: Sequence[str], *, hint: str) -> None:
        names = ", ".join(f'"{topic}"' for topic in topics)
        were = f"topic {names} was" if len(topics) == 1 else f"topics {names} were"
        super().__init__(
            f"{were} deleted and recreated: the offsets in the checkpoint belong to other records", hint=hint
        )
        self.topics = tuple(topics)


class TopicIds:
    """
    The ids of topics, stored in `topics.json` of a checkpoint folder.

    Thread-safe. The id of a topic is stored when the topic is first seen, also in an existing checkpoint.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._path = checkpoint / "topics.json"
        self._lock = threading.Lock()

    def check(self, ids: Mapping[str, str]) -> None:
        """
        Compare the stored ids with the current ones, and store those of new topics.

        Raises:
            TopicRecreatedError: a topic was deleted and recreated.
            StoreUnavailableError: the file cannot be written, or the disk is full.
            CheckpointError: the file is damaged.
        """
        with self._lock, on_disk(self._path):
            known = self._load()
            recreated = sorted(topic for topic, id_ in ids.items() if known.get(topic, id_) != id_)
            if recreated:
                raise TopicRecreatedError(
                    recreated,
                    hint=f'to read the new records from their beginning move "{self._checkpoint}" away and run '
                    + ("'ingest run --start-from earliest'" if set(recreated) >= set(known) else _GROUP),
                )
            if ids.keys() - known.keys():
                write_durably(self._path, json.dumps({**known, **ids}, sort_keys=True).encode())

    def _load(self) -> dict[str, str]:
        try:
            known = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError:
            known = None
        if not isinstance(known, dict):
            raise CheckpointError(
                f'the checkpoint is damaged: "{self._path}" is not a JSON object',
                hint="restore the file from a copy; without it nothing shows whether a topic was recreated",
            )
        return known
