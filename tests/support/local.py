"""Makes `local_servers` of deploy/local importable, so that tests start the same servers as users."""

import sys
from pathlib import Path

_FOLDER = str(Path(__file__).resolve().parents[2] / "deploy" / "local")
if _FOLDER not in sys.path:
    sys.path.insert(0, _FOLDER)

from local_servers import jars, versions  # noqa: E402 (the path must be set first)
from local_servers.errors import ServerError  # noqa: E402
from local_servers.hbase import HBaseServer  # noqa: E402
from local_servers.kafka import KafkaServer, new_cluster_id  # noqa: E402
from local_servers.probes import thrift_is_ready  # noqa: E402
from local_servers.processes import ServerProcess, free_ports  # noqa: E402

__all__ = [
    "HBaseServer",
    "KafkaServer",
    "ServerError",
    "ServerProcess",
    "free_ports",
    "jars",
    "new_cluster_id",
    "thrift_is_ready",
    "versions",
]
