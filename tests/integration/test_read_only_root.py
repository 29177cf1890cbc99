"""
The service in the confinement of its container: a read-only root, no network but the loopback, no rights.

Linux namespaces take the place of a container engine. The process has no capabilities; its user is that of the tests,
to whom the interpreter belongs.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.audit import rocksdb_table
from tests.support.programs import needs, path_of
from tests.support.service import environment

CONFINED = r"""
set -e
ip link set lo up
mount --bind "$1" /mnt
mount -t tmpfs -o mode=1777,size=1g tmpfs /tmp
mount -o remount,bind,ro /
cd /mnt
! touch /usr/written 2>/dev/null
shift
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all "$@"
"""
CONTENT = {
    "version": 1,
    "spark": {"master": "local[2,4]"},
    "stores": {"embedded": {"rocksdb": {"path": "./store"}}},
    "pipelines": {
        "lines": {
            "source": {"files": {"path": "./lines"}},
            "decorators": [
                {"value": {"attribute": "2hb_", "value": "%{body}"}},
                {"value": {"attribute": "2hb_f:q", "value": "x"}},
            ],
            "sinks": [{"attr2hbase": {"table": "t"}}],
        }
    },
}


def can_confine() -> bool:
    if path_of("unshare") is None:
        return False
    done = subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_confine(), reason="this account may not create namespaces")
@needs("unshare", "setpriv", "ip")
def test_service_runs_with_a_read_only_root_and_without_a_network(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "lines").mkdir(parents=True)
    (state / "lines" / "1.txt").write_text("a\nb\n")
    (state / "pipeline.yaml").write_text(json.dumps(CONTENT))
    command = [sys.executable, "-m", "ingest", "run", "--once", "pipeline.yaml"]
    done = subprocess.run(
        ["unshare", "--mount", "--net", "bash", "-c", CONFINED, "bash", str(state), *command],
        env=environment() | {"HOME": "/mnt", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]
    assert rocksdb_table(state / "store", "t").keys() == {b"a", b"b"}
    assert {path.name for path in state.iterdir()} == {"lines", "pipeline.yaml", "store", "data"}
