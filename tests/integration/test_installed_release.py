"""The README's five minutes from the wheel of a release, with jars from a folder, where Maven cannot be used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ingest
from tests.support.commands import ANY_PORT
from tests.support.environments import ROOT, environment_with

pytestmark = pytest.mark.slow

NO_MAVEN = "#!/bin/sh\ntouch '{used}'\nexit 1\n"


def test_five_minutes_without_maven(tmp_path: Path) -> None:
    from ingest.spark.jars import fetch, required

    dist, first, mirror, used = (tmp_path / name for name in ("dist", "first", "mirror", "used"))
    subprocess.run([sys.executable, "-m", "deploy.release.build", "--to", dist], cwd=ROOT, check=True)
    installed = environment_with(tmp_path / "venv", dist / f"attr2hbase-{ingest.__version__}-py3-none-any.whl")
    mirror.mkdir()
    for jar in fetch():
        shutil.copy(jar, mirror)
    maven = installed / "bin" / "mvn"
    maven.write_text(NO_MAVEN.format(used=used))
    maven.chmod(0o755)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment = plain | {
        "PATH": os.pathsep.join([str(installed / "bin"), os.environ["PATH"]]),
        "ATTR2HBASE_CACHE": str(tmp_path / "cache"),
    }

    def run(*command: str, folder: Path = first) -> str:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    fetched = run("attr2hbase", "jars", "fetch", "--from", str(mirror), folder=tmp_path)
    assert len(fetched.splitlines()) == len(required())
    run("attr2hbase", "init", "first", folder=tmp_path)
    with (first / "pipeline.yaml").open("a") as file:
        file.write(ANY_PORT)
    run("attr2hbase", "test", "pipeline.yaml")
    assert run("attr2hbase", "run", "--once", "pipeline.yaml").splitlines()[2].split()[:3] == ["ticks", "14", "10"]
    assert run("attr2hbase", "scan", "mytable").startswith("monday.txt:000017  ")
    assert "no_match" in run("attr2hbase", "dead-letters", "list")
    assert not used.exists()
