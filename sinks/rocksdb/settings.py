"""Settings of the embedded store; imports nothing heavy, so checking a file stays quick."""

from pathlib import Path

from ingest.api import LocalPath, StoreSettings, option


class RocksDBSettings(StoreSettings):
    """Options of the rocksdb store."""

    path: LocalPath = option("Folder of the store; created if missing. One process writes it.", example="./data")
    sync: bool = option(
        "True makes every write wait for the disk, so it survives a power cut; false survives a killed process only.",
        default=True,
    )

    @property
    def own_folder(self) -> Path:
        """The folder of the store."""
        return Path(self.path)
