"""Which topics a checkpoint's offsets belong to: one that is deleted and recreated has an old name and new records."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.api import CheckpointError, PositionLostError
from ingest.durable import on_disk, write_durably

# nothing is committed for the new ones, and where the group has no offset it begins at the beginning
_GROUP = "'ingest run --start-from group', which resumes in the other topics where it was"


class TopicRecreatedError(PositionLostError):
    """
    Other records are at the offsets we acknowledged, and what was not read of the old ones is gone.

    Attributes:
        topics: that were deleted and recreated.
    """

    code = "topic_recreated"

    def __init__(self, topics: Sequence[str], *, hint: str) -> None:
        names = ", ".join(f'"{topic}"' for topic in topics)
        were = f"topic {names} was" if len(topics) == 1 else f"topics {names} were"
        super().__init__(
            f"{were} deleted and recreated: the offsets in the checkpoint are those of other records", hint=hint
        )
        self.topics = tuple(topics)


class TopicIds:
    """
    The ids of topics, kept in `topics.json` of a checkpoint folder.

    Called by any thread. A topic is noted when it is first seen; a checkpoint of a version that noted none gets what
    is there now.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._path = checkpoint / "topics.json"
        self._lock = threading.Lock()

    def check(self, ids: Mapping[str, str]) -> None:
        """
        Compare with the ids that topics have now, and note those of new ones.

        Raises:
            TopicRecreatedError: a topic was deleted and recreated.
            StoreUnavailableError: the file may not be written now, or there is no room.
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
                f'the checkpoint is damaged: "{self._path}" is not what this product writes',
                hint="restore the file from a copy; without it nothing shows whether a topic was recreated",
            )
        return known
