"""What can be set about the embedded store; imports nothing heavy, so checking a file stays quick."""

from ingest.api import StoreSettings, option


class RocksDBSettings(StoreSettings):
    """Options of the rocksdb store."""

    path: str = option("Folder of the store; made when it is missing. One process writes it.", example="./data")
    sync: bool = option(
        "True makes every write wait for the disk, so it survives a power cut; false survives a killed process only.",
        default=True,
    )
