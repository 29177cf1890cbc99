"""Settings of the embedded store, without heavy imports, so that checking a file is quick."""

from pathlib import Path
from typing import Self

from ingest.api import LocalPath, StoreSettings, option


class RocksDBSettings(StoreSettings):
    """Options of the rocksdb store."""

    path: LocalPath = option("Folder of the store; created if missing. One process writes it.", example="./data")
    sync: bool = option(
        "True syncs every write to disk, so it survives a power failure; with false it survives only a killed process.",
        default=True,
    )

    @property
    def own_folder(self) -> Path:
        """The folder of the store."""
        return Path(self.path)

    def in_folder(self, folder: Path) -> Self:
        """The same, with an absolute path."""
        return self.model_copy(update={"path": str(folder / self.path)})
